"""`python -m sereno.deploy.dashboards FOLDER [--check]`: writes the dashboards, or says where they differ.

`--check` writes nothing and exits 1 when a file is missing, differs or belongs to no board.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sereno.deploy.dashboards.boards import BOARDS
from sereno.deploy.dashboards.grafana import text_of


def drift(expected: Mapping[str, str], folder: Path) -> Iterator[str]:
    """One line for each file of the folder that is not what the boards say now."""
    found = {path.name for path in folder.glob("*.json")}
    for name in sorted(expected.keys() | found):
        if name not in found:
            yield f"{name} is missing"
        elif name not in expected:
            yield f"{name} belongs to no board"
        elif (folder / name).read_text(encoding="utf-8") != expected[name]:
            yield f"{name} differs from its board"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 when `--check` found drift."""
    parser = argparse.ArgumentParser(prog="python -m sereno.deploy.dashboards", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the dashboards are")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on drift")
    options = parser.parse_args(arguments)
    expected = {f"{board.name}.json": text_of(board) for board in BOARDS}
    if not options.check:
        for name, text in expected.items():
            (options.folder / name).write_text(text, encoding="utf-8")
        return 0
    differences = list(drift(expected, options.folder))
    for line in differences:
        print(f"dashboards: {line}; run `make dashboards`", file=sys.stderr)  # noqa: T201 - a command's answer
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
