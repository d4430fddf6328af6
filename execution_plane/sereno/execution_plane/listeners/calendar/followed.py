"""A calendar as one subscription follows it, and an occurrence of it whose time has come."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sereno.execution_plane.listeners.calendar.occurrence import Occurrence
from sereno.execution_plane.listeners.schedule import Misfire
from sereno.subscriptions.models.source import CalendarSource

EVERY = {
    "file": timedelta(seconds=10),
    "object": timedelta(seconds=60),
    "caldav": timedelta(seconds=60),
    "url": timedelta(minutes=5),
}
"""How often a source is looked at where the subscription does not say it."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What a subscription to a calendar amounts to; `zone` is where times without one are read."""

    tenant: str
    id: str
    subscription: str
    version: int
    source: CalendarSource
    misfire: Misfire
    paused: bool
    expires: datetime | None
    zone: str | None
    counted_from: datetime

    @property
    def every(self) -> timedelta:
        """How often the source is looked at."""
        return self.source.every or EVERY[self.kind]

    @property
    def kind(self) -> str:
        """Where the calendar is: `file`, `url`, `caldav` or `object`."""
        return next(name for name in EVERY if getattr(self.source, name) is not None)


@dataclass(frozen=True, slots=True)
class Due:
    """An occurrence whose time has come, and where it was before it was moved."""

    followed: Followed
    occurrence: Occurrence
    previous_start: datetime | None = None
    previous_anchor: datetime | None = None
