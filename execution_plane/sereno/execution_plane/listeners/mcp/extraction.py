"""The items of an answer: their identity, version, time, place in the order, and what is kept of them (pure)."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

import rfc8785

from sereno.subscriptions.expression import FilterFault, compile_expression, read_on_demand
from sereno.subscriptions.models.source import McpSource

LONGEST_ID = 1_024
MOST_ITEMS = 10_000
"""Of one observation; what is beyond is read by the next."""
_PATH = re.compile(r"[a-z][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_MILLISECONDS = 100_000_000_000
_compile = cache(compile_expression)

Mark = int | float | str
"""Where an item stands in the order of its source."""


class UnreadableError(Exception):
    """The answer is not what the source says it is; a sentence that names the expression and what it found."""


@dataclass(frozen=True, slots=True)
class Found:
    """One item of an answer; `version` is empty where the source names none."""

    id: str
    version: str
    data: Any
    mark: Mark | None = None

    @property
    def key(self) -> bytes:
        """Under which it is known."""
        return hashlib.sha256(self.id.encode()).digest()

    @property
    def state(self) -> bytes:
        """Which version of it is known."""
        return hashlib.sha256(self.version.encode()).digest()


@dataclass(slots=True)
class Observed:
    """What an observation found: items in their order, and those that could not be told apart, with their place."""

    items: list[Found] = field(default_factory=list)
    unfinished: list[tuple[str, Mark | None]] = field(default_factory=list)


def items_of(variables: Mapping[str, Any], source: McpSource) -> list[Any]:
    """The items of an answer. Raises `UnreadableError`."""
    found = value_of(source.items, variables)
    if not isinstance(found, list | tuple):
        raise UnreadableError(f"items {source.items!r}: expected a list; found {_kind(found)}")
    return list(found)


def next_page(variables: Mapping[str, Any], expression: str) -> Any:
    """What asks for the next page; None at the end. Raises `UnreadableError`."""
    found = value_of(expression, variables)
    return None if found in (None, "", 0, False) else found


def extract(items: Sequence[Any], source: McpSource) -> Observed:
    """Each item with its identity; one without stays unfinished, and says why."""
    observed = Observed()
    for item in items:
        variables = {"item": item}
        mark = _mark(variables, source)
        try:
            version = None if source.version is None else value_of(source.version, variables)
            found = Found(_id(value_of(source.id, variables), source.id), _version(version), item, mark)
        except UnreadableError as fault:
            observed.unfinished.append((str(fault), mark))
            continue
        observed.items.append(found)
    return observed


def moment_of(item: Any, expression: str | None) -> datetime | None:
    """When what an item tells of happened, as far as it says so with a zone."""
    if expression is None:
        return None
    try:
        return _moment(value_of(expression, {"item": item}))
    except UnreadableError:
        return None


def projected(item: Any, paths: Sequence[str]) -> Any:
    """The named fields of an item, nested as they were; all of it when none is named."""
    if not paths or not isinstance(item, Mapping):
        return item if not paths else {}
    kept: dict[str, Any] = {}
    for path in paths:
        steps = path.split(".")
        value: Any = item
        for step in steps:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None:
            _put(kept, steps, value)
    return kept


def _put(kept: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    for step in steps[:-1]:
        inner = kept.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        kept = inner
    kept[steps[-1]] = value


def _mark(variables: Mapping[str, Any], source: McpSource) -> Mark | None:
    if source.cursor is None:
        return None
    try:
        found = value_of(source.cursor.value, variables)
    except UnreadableError:
        return None
    if isinstance(found, datetime):
        return found.isoformat()
    return found if isinstance(found, int | float | str) and not isinstance(found, bool) else None


def _id(value: Any, expression: str) -> str:
    if isinstance(value, int | float | str) and not isinstance(value, bool) and str(value):
        text = str(value)
        return text if len(text) <= LONGEST_ID else "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    raise UnreadableError(f"id {expression!r}: expected text or a number; found {_kind(value)}")


def _version(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()
    except (rfc8785.CanonicalizationError, ValueError):
        return str(value)


def value_of(expression: str, variables: Mapping[str, Any]) -> Any:
    """What an expression comes to; None when what it reads is absent. Raises `UnreadableError`."""
    if _PATH.fullmatch(expression):
        return _walked(variables, expression.split("."))
    try:
        return _compile(expression).value(read_on_demand(variables))
    except FilterFault as fault:
        raise UnreadableError(str(fault)) from None


def _walked(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def _moment(value: Any) -> datetime | None:
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else None


def faults_of(observed: Observed) -> Iterator[str]:
    """Why items are unfinished, each sentence once."""
    yield from dict.fromkeys(sentence for sentence, _ in observed.unfinished)
