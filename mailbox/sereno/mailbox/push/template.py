"""The body of a push, made from a JSON template whose text may hold `{{ path }}`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_HOLE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_PATH = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
ROOTS = frozenset({"message", "prompt", "delivery_id", "lease", "callback"})
DEFAULT = {"message": "{{ message }}", "lease": "{{ lease }}", "callback": "{{ callback }}"}


@dataclass(frozen=True, slots=True)
class Template:
    """A JSON value. A text that is one hole becomes what stands at its path, any JSON; other holes become text.

    What fills a hole is data: it stays inside its JSON string, and is not read for holes again. A path that
    leads nowhere is `null`, or nothing within text: attributes of events are optional.
    """

    shape: Any

    @classmethod
    def parse(cls, text: bytes) -> "Template":
        """Raises ValueError naming the hole or the place of the fault."""
        try:
            shape = orjson.loads(text)
        except orjson.JSONDecodeError as fault:
            raise ValueError(f"expected a JSON template: {fault}") from fault
        for hole in _holes(shape):
            if _PATH.fullmatch(hole) is None or hole.partition(".")[0] not in ROOTS:
                raise ValueError(
                    f"expected a path that starts with one of {', '.join(sorted(ROOTS))}, got {{{{ {hole} }}}}"
                )
        return cls(shape)

    @classmethod
    def default(cls) -> "Template":
        """The whole message, its lease and where to call back."""
        return cls(DEFAULT)

    def fill(self, values: Mapping[str, Any]) -> bytes:
        """The body as bytes of JSON."""
        return orjson.dumps(_filled(self.shape, values))


def _holes(shape: Any) -> list[str]:
    match shape:
        case str():
            return _HOLE.findall(shape)
        case list():
            return [hole for inner in shape for hole in _holes(inner)]
        case dict():
            return [hole for inner in shape.values() for hole in _holes(inner)]
    return []


def _filled(shape: Any, values: Mapping[str, Any]) -> Any:
    match shape:
        case str():
            return _text(shape, values)
        case list():
            return [_filled(inner, values) for inner in shape]
        case dict():
            return {name: _filled(inner, values) for name, inner in shape.items()}
    return shape


def _text(text: str, values: Mapping[str, Any]) -> Any:
    if (whole := _HOLE.fullmatch(text)) is not None:
        return _at(values, whole[1].split("."))
    return _HOLE.sub(lambda hole: _as_text(_at(values, hole[1].split("."))), text)


def _at(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
