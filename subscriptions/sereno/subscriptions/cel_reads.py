"""What an expression reads of an event, so that no more of it is converted for the evaluator."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sereno.subscriptions.cel_shape import Path, Shape

Reads = tuple[tuple[str, ...], ...]
"""Paths from the root of an event, none a part of another, in order."""
EVERYTHING: Reads = ()
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def reads_of(shape: Shape) -> Reads:
    """The paths that an expression of this shape reads; EVERYTHING when it names none."""
    found = {tuple(_followed(path)) for path in _paths(shape)}
    return tuple(sorted(path for path in found if not any(path[:end] in found for end in range(len(path)))))


def _paths(shape: Shape) -> Iterator[Path]:
    yield from shape.paths
    for one in shape.comprehensions:
        yield from one.paths
        if isinstance(one.over, tuple):
            yield one.over


def _followed(path: Path) -> Iterator[str]:
    """The steps of a path as far as they are names: an index may be spelled in a way that only CEL reads."""
    for step in path:
        if not isinstance(step, str) or _NAME.fullmatch(step) is None:
            return
        yield step


def part_of(attributes: Mapping[str, Any], reads: Reads) -> Mapping[str, Any]:
    """The event with nothing in it but what these paths read; where one ends or meets no map, all of the value."""
    if reads == EVERYTHING:
        return attributes
    part: dict[str, Any] = {}
    for path in reads:
        _copy(attributes, path, part)
    return part


def _copy(source: Mapping[str, Any], path: tuple[str, ...], part: dict[str, Any]) -> None:
    for place, step in enumerate(path, start=1):
        if step not in source:
            return
        value = source[step]
        if place == len(path) or not isinstance(value, dict):
            part[step] = value
            return
        source, part = value, part.setdefault(step, {})
