"""How much work an expression can be for one event, at most: a bound taken before the call that nothing can cancel.

A unit is about what touching one value or 32 characters costs. Each path costs the weight of what it reads, once per
item inside a comprehension; `map` and `filter` copy their growing result at each item; each `+` may copy everything.
"""

from collections.abc import Mapping
from typing import Any

from sereno.subscriptions.cel_shape import Comprehension, Literal, Path, Shape

MAX_ITEMS = 1_000
# At most about half a second on one slow core; ordinary filters cost a few dozen.
MAX_COST = 1_000_000
_CHARACTERS = 32
# An expression has at most 100 nodes, so no literal has more.
_LITERAL = 100


class TooCostlyError(Exception):
    """The event is too large for the expression; the message says what was counted."""


class Weights:
    """The weights of an event's values, each counted once."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._attributes = attributes
        self._known: dict[Path, int] = {}

    def items(self, path: Path) -> int:
        """How many items the list or map at `path` has."""
        value = self._at(path)
        return len(value) if isinstance(value, list | tuple | dict) else 0

    def weight(self, path: Path) -> int:
        """The weight of the value at `path`, all inside it counted; 1 where there is none."""
        if path not in self._known:
            self._known[path] = _weight(self._at(path))
        return self._known[path]

    def _at(self, path: Path) -> Any:
        value: Any = self._attributes
        for step in path:
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, list | tuple) and isinstance(step, int) and 0 <= step < len(value):
                value = value[step]
            else:
                return None
        return value


def check(shape: Shape, weights: Weights) -> None:
    """Raises TooCostlyError when the expression may walk over too much of this event."""
    if not shape.comprehensions and not shape.additions:
        return
    once = sum(map(weights.weight, shape.paths))
    results: dict[int, tuple[int, int]] = {}
    total = once
    for comprehension in shape.comprehensions:
        items, steps = _walk(comprehension, weights, once, results)
        results[id(comprehension)] = items, steps
        total += steps + (items * items // 2 if comprehension.macro in ("map", "filter") else 0)
    total *= 1 + shape.additions
    if total > MAX_COST:
        raise TooCostlyError(f"up to {total:,} steps on this event; at most {MAX_COST:,} are accepted")


def _walk(
    comprehension: Comprehension, weights: Weights, once: int, results: Mapping[int, tuple[int, int]]
) -> tuple[int, int]:
    """How many items a comprehension goes over, and in how many steps; it makes nothing heavier than these."""
    over = comprehension.over
    if isinstance(over, Literal):
        items, weight = _LITERAL, _LITERAL + once
    elif isinstance(over, Comprehension):
        items, weight = results[id(over)]
    else:
        items, weight = weights.items(over), weights.weight(over)
    if items > MAX_ITEMS:
        raise TooCostlyError(
            f"{comprehension.macro} over {items:,} items; at most {MAX_ITEMS:,} are accepted"
        )
    body = sum(map(weights.weight, comprehension.paths))
    return items, items * (1 + body) + weight * comprehension.uses


def _weight(value: Any) -> int:
    total = 0
    pending = [value]
    while pending:
        current = pending.pop()
        total += 1
        if isinstance(current, str | bytes):
            total += len(current) // _CHARACTERS
        elif isinstance(current, Mapping):
            pending.extend(current.values())
            total += sum(map(len, current)) // _CHARACTERS
        elif isinstance(current, list | tuple):
            pending.extend(current)
    return total
