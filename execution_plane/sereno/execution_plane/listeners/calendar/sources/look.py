"""What a look at a source answers: nothing new, or what is there now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sereno.subscriptions.models.source import CalendarSource
from sereno.subscriptions.recurrence.calendar_text import MAX_BYTES

MAX_RESOURCES = 20_000
"""How many objects one collection may hold."""
MAX_TOTAL_BYTES = 4 * MAX_BYTES


class SourceAwayError(Exception):
    """The source cannot be read now; what was read last stays in force. The sentence names no secret."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One text of a source, where it lies, and by what its version is known there."""

    href: str
    content: str
    etag: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What changed: texts new or changed, and those that are gone; with `is_whole` they are all there are.

    `cursor` is what the next look begins from.
    """

    cursor: Mapping[str, Any]
    resources: Sequence[Resource] = ()
    gone: Sequence[str] = ()
    is_whole: bool = False

    @property
    def is_news(self) -> bool:
        """Whether anything is other than it was."""
        return self.is_whole or bool(self.resources or self.gone)


@dataclass(frozen=True, slots=True)
class Last:
    """What the last look left: its cursor, and the version of each text by where it lies."""

    cursor: Mapping[str, Any] = field(default_factory=dict)
    etags: Mapping[str, str | None] = field(default_factory=dict)


class Source(Protocol):
    """One kind of source."""

    async def look(self, source: CalendarSource, last: Last) -> Look:
        """What changed since the last look. Raises `SourceAwayError`; nothing is known then."""
        ...


def decoded(content: bytes) -> str:
    """Calendar text, which is UTF-8. Raises `SourceAwayError`."""
    try:
        # A NUL is no character of a calendar, and the database cannot hold one.
        return content.decode("utf-8").replace("\0", "")
    except UnicodeDecodeError:
        raise SourceAwayError("the calendar is not UTF-8 text") from None
