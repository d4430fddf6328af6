"""What differs between two texts of an object, field by field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sereno.control_plane.catalog.item import Item


@dataclass(frozen=True, slots=True)
class Difference:
    """One field with its value before and after; `None` where it is absent."""

    path: str
    before: Any
    after: Any


def differences(before: Item | None, after: Item) -> tuple[Difference, ...]:
    """The fields of labels and spec in which the two differ, and the state."""
    old = _whole(before) if before and before.live else {}
    new = _whole(after) if after.live else {}
    return tuple(_compare("", old, new))


def _whole(item: Item) -> Mapping[str, Any]:
    return {"metadata": {"labels": item.labels}, "spec": item.spec, "state": item.state.value}


def _compare(path: str, before: Any, after: Any) -> Iterator[Difference]:
    if before == after:
        return
    if not (isinstance(before, Mapping | None) and isinstance(after, Mapping | None)):
        yield Difference(path, before, after)
        return
    old, new = before or {}, after or {}
    for field in sorted(old.keys() | new.keys()):
        yield from _compare(f"{path}.{field}" if path else field, old.get(field), new.get(field))
