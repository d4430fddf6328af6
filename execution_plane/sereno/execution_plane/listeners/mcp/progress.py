"""How far a source is read: never past an item that is not finished (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sereno.execution_plane.listeners.mcp.extraction import Mark, Observed


@dataclass(frozen=True, slots=True)
class Progress:
    """Up to which mark all is read.

    In the middle of pages: the next of them, the mark that will be reached (`pending`), and what holds it back: the
    lowest mark of an item that is not finished, or `held` without one.
    """

    mark: Mark | None = None
    page: Any = None
    pending: Mark | None = None
    barrier: Mark | None = None
    held: bool = False

    @classmethod
    def of(cls, written: dict[str, Any]) -> "Progress":
        """As it was stored."""
        return cls(
            written.get("mark"),
            written.get("page"),
            written.get("pending"),
            written.get("barrier"),
            bool(written.get("held")),
        )

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        members = ("mark", "page", "pending", "barrier", "held")
        return {name: value for name in members if (value := getattr(self, name)) not in (None, False)}

    def after(self, seen: Sequence[Observed], following: Any) -> "Progress":
        """After these were observed; `following` asks for the next page, and None says that there is none."""
        unfinished = [mark for observed in seen for _, mark in observed.unfinished]
        held = self.held or any(mark is None for mark in unfinished)
        barrier = _lowest([self.barrier, *unfinished])
        marks = [one.mark for observed in seen for one in observed.items]
        reached = _highest([self.pending, *(mark for mark in marks if _is_before(mark, barrier))])
        # What was reached before a barrier appeared may lie behind it.
        reached = reached if _is_before(reached, barrier) else None
        if following is not None:
            return Progress(self.mark, following, reached, barrier, held)
        return Progress(self.mark if held else _highest([self.mark, reached]))


def _is_before(mark: Mark | None, barrier: Mark | None) -> bool:
    return mark is not None and (barrier is None or (_comparable(mark, barrier) and mark < barrier))  # type: ignore[operator]  # both are of one kind


def _comparable(one: Mark, other: Mark) -> bool:
    return isinstance(one, str) == isinstance(other, str)


def _highest(marks: Sequence[Mark | None]) -> Mark | None:
    found: Mark | None = None
    for mark in marks:
        if mark is not None and (found is None or (_comparable(mark, found) and mark > found)):  # type: ignore[operator]
            found = mark
    return found


def _lowest(marks: Sequence[Mark | None]) -> Mark | None:
    found: Mark | None = None
    for mark in marks:
        if mark is not None and (found is None or (_comparable(mark, found) and mark < found)):  # type: ignore[operator]
            found = mark
    return found
