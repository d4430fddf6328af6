"""How a body becomes an event: expressions of an endpoint over a preset, and the fields that are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, Self

from sereno.execution_plane.gateway.body import Document
from sereno.subscriptions.expression import Event, Expression, FilterFault, compile_expression, event_of
from sereno.subscriptions.models import BodyMapping

_LONGEST = 1024
_MILLISECONDS = 100_000_000_000
_compile = cache(compile_expression)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one body; None where it says nothing. `faults` are expressions that could not be evaluated."""

    texts: Mapping[str, str] = field(default_factory=dict)
    time: datetime | None = None
    verified: bool = True
    data: object = None
    faults: tuple[str, ...] = ()

    def text(self, name: str) -> str | None:
        """The text read under this name."""
        return self.texts.get(name)


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """Compiled expressions by field, and how `data` is cut down: by an expression, by paths, or not at all."""

    expressions: Mapping[str, Expression]
    paths: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, declared: BodyMapping) -> Self:
        """The mapping of a declaration. ValueError when an expression is none."""
        written = declared.model_dump(exclude_none=True)
        data = written.pop("data", None)
        if isinstance(data, str):
            written["data"] = data
        paths = tuple(tuple(path.split(".")) for path in data) if isinstance(data, tuple | list) else ()
        return cls({name: _compile(source) for name, source in written.items()}, paths)

    def over(self, preset: "FieldMapping | None") -> "FieldMapping":
        """The mapping, with the preset where it says nothing."""
        if preset is None:
            return self
        inherited = dict(preset.expressions)
        if self.cuts:
            inherited.pop("data", None)
        return FieldMapping({**inherited, **self.expressions}, self.paths if self.cuts else preset.paths)

    @property
    def cuts(self) -> bool:
        """Whether it says which data is kept."""
        return bool(self.paths) or "data" in self.expressions

    def read(self, document: Document, headers: Mapping[str, str]) -> Reading:
        """What the document says; `headers` are those that the signature covers."""
        try:
            event = event_of({"body": document.value, "headers": dict(headers)})
        except FilterFault as fault:
            return Reading(data=self._cut(document, None), faults=(str(fault),))
        faults: list[str] = []
        values = {
            name: _evaluated(expression, event, faults) for name, expression in self.expressions.items()
        }
        texts = {name: text for name, value in values.items() if (text := _text(value)) is not None}
        return Reading(
            texts=texts,
            time=_moment(values.get("time")),
            verified="verified" not in values or values["verified"] is True,
            data=self._cut(document, values.get("data")),
            faults=tuple(faults),
        )

    def _cut(self, document: Document, evaluated: object) -> object:
        if self.paths:
            return picked(document.value, self.paths)
        if "data" in self.expressions:
            # What cannot be cut down is not kept: the declaration says that the rest is not needed.
            return evaluated if evaluated is not None else {}
        return document.value


def picked(value: object, paths: Sequence[Sequence[str]]) -> object:
    """The fields at these paths, nested as they were; what is absent is left out, and of a list each item is cut."""
    if isinstance(value, list):
        return [picked(item, paths) for item in value]
    if not isinstance(value, Mapping):
        return value
    below: dict[str, list[Sequence[str]]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    return {
        name: value[name] if any(not rest for rest in rests) else picked(value[name], rests)
        for name, rests in below.items()
        if name in value
    }


def _evaluated(expression: Expression, event: Event, faults: list[str]) -> Any:
    try:
        return expression.value(event)
    except FilterFault as fault:
        faults.append(str(fault))
        return None


def _text(value: object) -> str | None:
    """Text of a text or a whole number; control characters have no place in an attribute."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(int(value)) if float(value).is_integer() else str(value)
    if not isinstance(value, str) or not value.isprintable():
        return None
    return value if 0 < len(value) <= _LONGEST else None


def _moment(value: object) -> datetime | None:
    """A moment of RFC 3339 text, of seconds or milliseconds since 1970, or of CEL's own; None for anything else."""
    try:
        if isinstance(value, str):
            value = float(value) if value.replace(".", "", 1).isdigit() else _iso(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else None


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix(" UTC") + "+00:00" if text.endswith(" UTC") else text)
