"""Says in one way what pydantic found wrong."""

import difflib
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

_SENTENCES = {
    "missing": "required",
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "float_type": "expected a number",
    "tuple_type": "expected a list",
    "list_type": "expected a list",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
    "url_parsing": "expected a URL",
    "url_scheme": "expected a URL",
    "url_type": "expected a URL",
}
_TEMPLATES = {
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "too_short": "expected at least {min_length}; found {actual_length}",
    "too_long": "expected at most {max_length}; found {actual_length}",
}


def worded(error: ErrorDetails, model: type[BaseModel]) -> str:
    """A sentence that names what was expected, never the value that was given."""
    kind = error["type"]
    if kind == "extra_forbidden":
        *around, name = error["loc"]
        return unknown_field(str(name), _fields(model, around))
    if kind in _SENTENCES:
        return _SENTENCES[kind]
    if kind in _TEMPLATES and "ctx" in error:
        return _TEMPLATES[kind].format(**error["ctx"])
    return error["msg"].removeprefix("Value error, ")


def unknown_field(name: str, known: Iterable[str]) -> str:
    """The sentence that refuses a field and says which one was perhaps meant."""
    names = sorted(known)
    close = difflib.get_close_matches(name[:64], names, n=1)
    if close:
        return f"unknown field; did you mean {close[0]}?"
    return f"unknown field; expected one of {', '.join(names)}" if names else "unknown field"


def _fields(model: type[BaseModel], path: Iterable[str | int]) -> list[str]:
    """The names of the fields of the model that stands at `path` below `model`; none when that is no model."""
    current: type[BaseModel] | None = model
    for step in path:
        if isinstance(step, str) and current is not None:
            by_name = {info.alias or name: info.annotation for name, info in current.model_fields.items()}
            current = _model_in(by_name.get(step))
    return [info.alias or name for name, info in current.model_fields.items()] if current else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if isinstance(annotation, UnionType) or get_origin(annotation) not in (None, Mapping):
        return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
    return None
