"""The published schemas of Sereno, as data: JSON Schema, OpenAPI and AsyncAPI documents, read by name."""

import json
from importlib.resources import files
from typing import Any

_SUFFIX = ".json"
_FOLDER = files(__name__) / "generated"


class UnknownSchemaError(KeyError):
    """No document of that name is published; the message lists those that are."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> tuple[str, ...]:
    """The names of every published document, such as `subscription.schema` or `control.openapi`, in order."""
    found = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


def read(name: str) -> dict[str, Any]:
    """The published document of that name; raises UnknownSchemaError when there is none."""
    if name not in names():
        raise UnknownSchemaError(f"no schema is named {name!r}; there are {', '.join(names())}")
    document: dict[str, Any] = json.loads((_FOLDER / f"{name}{_SUFFIX}").read_text(encoding="utf-8"))
    return document
