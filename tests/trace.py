"""Prints each row of the requirements that is in the core with the tests that show it, and those that none shows.

Run by `make trace`. A test shows a row by carrying `@pytest.mark.req(ROW)`; tests are collected, not run.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "docs/reference/requirements.md"
ROW = re.compile(r"^\| (\d+) \| (.+) \| ([\w -]+) \|$", re.MULTILINE)
NOT_BUILT = "out-of-core"
WIDTH = 110


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the requirements."""

    number: int
    text: str
    part: str


@dataclass(slots=True, eq=False)  # pytest keeps its plugins in sets
class Markers:
    """A pytest plugin that notes which test names which rows; parameters of one test count once."""

    shown: dict[int, list[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            test = item.nodeid.split("[", 1)[0]
            for mark in item.iter_markers("req"):
                for number in mark.args:
                    tests = self.shown.setdefault(number, [])
                    if test not in tests:
                        tests.append(test)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.faults.append(f"{report.nodeid}: {report.longreprtext.strip().splitlines()[-1]}")


def read_rows(text: str) -> tuple[Row, ...]:
    return tuple(Row(int(number), line.strip(), part.strip()) for number, line, part in ROW.findall(text))


def collect(arguments: Sequence[str], root: Path = ROOT) -> Markers:
    markers = Markers()
    options = ["--collect-only", "-p", "no:terminal"]
    pytest.main([*options, "--rootdir", str(root), *arguments], plugins=[markers])
    return markers


def report(rows: Iterable[Row], shown: Mapping[int, Sequence[str]]) -> list[str]:
    """The printed lines: in-core rows with their tests, then in-core rows without any, then the counts."""
    core = [row for row in rows if row.part != NOT_BUILT]
    with_tests = [row for row in core if shown.get(row.number)]
    without = [row for row in core if not shown.get(row.number)]
    lines = ["Shown by tests", ""]
    for row in with_tests:
        lines.append(_line(row))
        lines += [f"          {test}" for test in shown[row.number]]
    lines += ["", "Shown by no test", "", *(_line(row) for row in without)]
    return [*lines, "", f"{len(with_tests)} of {len(core)} rows are shown by tests."]


def unknown(rows: Iterable[Row], shown: Mapping[int, Sequence[str]]) -> list[str]:
    """Tests that name a row which is not there, as sentences."""
    numbers = {row.number for row in rows}
    return [
        f"{test} names row {number}, which is not in the requirements."
        for number, tests in sorted(shown.items())
        if number not in numbers
        for test in tests
    ]


def _line(row: Row) -> str:
    line = f"{row.number:>5}  {row.part:<16} {row.text}"
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def main(arguments: Sequence[str]) -> int:
    rows = read_rows(REQUIREMENTS.read_text())
    markers = collect(arguments)
    faults = [*markers.faults, *unknown(rows, markers.shown)]
    sys.stdout.write("\n".join(report(rows, markers.shown)) + "\n")
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
