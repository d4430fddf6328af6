"""Each row of the public record has a test that carries its number."""

import re
from pathlib import Path

HERE = Path(__file__)
ROW = re.compile(r"^\| ([A-Z]\d+) \|", re.MULTILINE)
TEST = re.compile(r"^(?:async )?def test_((?:[a-z]\d+_)+)", re.MULTILINE)


def test_each_row_has_a_test_of_its_number() -> None:
    rows = ROW.findall(HERE.with_name("public_record.md").read_text(encoding="utf-8"))
    assert len(rows) == len(set(rows)) >= 39
    shown = {
        name.upper()
        for path in HERE.parents[1].rglob("test_*.py")
        for found in TEST.findall(path.read_text(encoding="utf-8"))
        for name in found.strip("_").split("_")
    }
    assert [row for row in rows if row not in shown] == []
