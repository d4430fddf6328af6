"""Which items are news to a reading (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sereno.execution_plane.listeners.mcp.extraction import Found


@dataclass(frozen=True, slots=True)
class Memory:
    """What a reading knows: the versions of these items, and whether what was there at first is known."""

    known: Mapping[bytes, bytes]
    seeded: bool
    backfill: int = 0


class News(NamedTuple):
    """What is to be remembered, and of that what is told."""

    remember: list[Found]
    tell: list[Found]


def news(items: Sequence[Found], memory: Memory, newest_first: Sequence[Found]) -> News:
    """A first look remembers all and tells of nothing, but of as many as were asked for, the newest; later ones tell
    of each item and version that is not known. An item that stands twice in an answer counts once, as it was last.
    """
    latest = {item.key: item for item in items}
    fresh = [item for key, item in latest.items() if memory.known.get(key) != item.state]
    if memory.seeded:
        return News(fresh, fresh)
    chosen = {
        item.key for item in [one for one in newest_first if latest.get(one.key) is one][: memory.backfill]
    }
    return News(fresh, [item for item in fresh if item.key in chosen])
