"""`python -m sereno.deploy.schema_export [--check]`: writes the published schemas, or says where they differ.

`--check` writes nothing and exits 1 when a published file is missing, differs or belongs to nothing.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import sereno.schemas
from sereno.deploy.schema_export.published import Document, documents

FOLDER = Path(sereno.schemas.__file__).parent / "generated"


def text_of(document: Document) -> str:
    """The one text of a document: indented, in the order of the models, ending in a newline."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def drift(published: Mapping[str, Document], folder: Path) -> Iterator[str]:
    """One line for each file of the folder that is not what the models say now."""
    expected = {f"{name}.json": text_of(document) for name, document in published.items()}
    found = {path.name for path in folder.glob("*.json")}
    for name in sorted(expected.keys() | found):
        if name not in found:
            yield f"{name} is missing"
        elif name not in expected:
            yield f"{name} describes nothing any more"
        elif (folder / name).read_text(encoding="utf-8") != expected[name]:
            yield f"{name} differs from the models"


def write(published: Mapping[str, Document], folder: Path) -> None:
    """Makes the folder say what the models say: writes every document, removes what describes nothing."""
    folder.mkdir(exist_ok=True)
    for name, document in published.items():
        (folder / f"{name}.json").write_text(text_of(document), encoding="utf-8")
    for path in folder.glob("*.json"):
        if path.stem not in published:
            path.unlink()


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """The exit code: 0, or 1 when `--check` found drift."""
    parser = argparse.ArgumentParser(prog="python -m sereno.deploy.schema_export", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on drift")
    published = documents()
    if not parser.parse_args(arguments).check:
        write(published, folder)
        return 0
    differences = list(drift(published, folder))
    for line in differences:
        print(f"schemas: {line}; run `make schemas`", file=sys.stderr)  # noqa: T201 - a command's answer
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
