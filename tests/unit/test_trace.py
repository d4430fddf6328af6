"""The trace from requirements to tests."""

import os
import subprocess
import sys
from pathlib import Path

from tests.trace import REQUIREMENTS, ROOT, Row, read_rows, report, unknown

ROWS = (
    Row(1, "One path", "mailbox"),
    Row(2, "A knowledge graph", "out-of-core"),
    Row(3, "A lease", "mailbox"),
)


def test_the_requirements_are_numbered_without_a_gap() -> None:
    assert [row.number for row in read_rows(REQUIREMENTS.read_text())] == list(range(1, 406))


def test_every_row_belongs_to_a_part() -> None:
    parts = {row.part for row in read_rows(REQUIREMENTS.read_text())}
    assert parts == {
        "brought in",
        "console",
        "control_plane",
        "envelope",
        "execution_plane",
        "mailbox",
        "out-of-core",
        "subscriptions",
    }


def test_rows_with_tests_come_first_and_rows_not_built_are_left_out() -> None:
    assert report(ROWS, {3: ["tests/unit/test_lease.py::test_claim"]}) == [
        "Shown by tests",
        "",
        "    3  mailbox          A lease",
        "          tests/unit/test_lease.py::test_claim",
        "",
        "Shown by no test",
        "",
        "    1  mailbox          One path",
        "",
        "1 of 2 rows are shown by tests.",
    ]


def test_a_row_that_is_not_there_is_named_with_its_test() -> None:
    assert unknown(ROWS, {9: ["t.py::test_a"]}) == [
        "t.py::test_a names row 9, which is not in the requirements."
    ]


def test_markers_are_read_from_collected_tests(tmp_path: Path) -> None:
    source = (
        "import pytest\n\n@pytest.mark.req(1, 3)\n@pytest.mark.parametrize('x', [1, 2])\ndef test_a(x): ...\n"
    )
    (tmp_path / "test_sample.py").write_text(source)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = req: rows\n")
    script = (
        "import sys\nfrom pathlib import Path\nfrom tests.trace import collect\n"
        "found = collect([sys.argv[1]], Path(sys.argv[1]))\nprint(sorted(found.shown.items()), found.faults)\n"
    )
    # A process of its own: pytest cannot run inside itself without sharing its modules.
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == "[(1, ['test_sample.py::test_a']), (3, ['test_sample.py::test_a'])] []", (
        run.stderr
    )
