"""Named SQL statements, read from a `.sql` file that lies beside the module which runs them."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

Queries = Mapping[str, str]

_NAME = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)


@cache
def load(package: str, file: str) -> Queries:
    """The statements of `file` in `package`, by the name that stands above each as `-- name: claim`.

    Raises `ValueError` when the file holds no named statement or one name twice.
    """
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    marks = list(_NAME.finditer(text))
    if not marks or len({mark["name"] for mark in marks}) != len(marks):
        raise ValueError(f"{package}/{file}: expected named statements, each name once")
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark["name"]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)}
