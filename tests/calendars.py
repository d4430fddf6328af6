"""iCalendar text for tests, and a calendar on a clock that the test drives."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from sereno.execution_plane.listeners.calendar.calendar_listener import CalendarListener
from sereno.execution_plane.listeners.calendar.sources.file import FileSource
from sereno.execution_plane.listeners.calendar.sources.look import Source
from sereno.execution_plane.listeners.calendar.watcher import CalendarWatcher
from tests.driven_clock import DAY, Clock
from tests.passages import declared


def calendar(*entries: str, kind: str = "VEVENT") -> str:
    """A calendar with these entries, each given by its lines."""
    lines = [line for entry in entries for line in (f"BEGIN:{kind}", *entry.splitlines(), f"END:{kind}")]
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests//", *lines, "END:VCALENDAR", ""])


def followed(name: str, source: Mapping[str, Any], since: datetime = DAY, **more: Any) -> Any:
    """A subscription to a calendar, ten minutes before, looked at each minute, unless the source says otherwise."""
    fields = {key: more.pop(key) for key in ("version", "state") if key in more}
    whole = {"offset": "-10m", "every": "1m", **source}
    return declared(name, updated_at=since, source={"calendar": whole}, **fields, **more)


class CalendarClock(Clock):
    """Watchers and listeners of calendars on a clock that the test drives, and the pipeline behind them."""

    def watcher(self, **sources: Source) -> CalendarWatcher:
        """One more, as in another process."""
        return CalendarWatcher(self.plane.pool, {"file": FileSource(), **sources})

    async def turn(self, now: datetime, watcher: CalendarWatcher | None = None) -> None:
        """Let a watcher look and a listener write what is due at this time, and the pipeline decide it."""
        await (watcher or self.watcher()).observe(now)
        await CalendarListener(self.plane.pool, os.urandom).observe(now)
        await self.decide()

    async def instants(self) -> list[tuple[datetime, str, str | None, str | None]]:
        """When each wake-up was or is due, and what became of it."""
        rows = await self.plane.rows(
            "select fire, state, outcome, reason from execution.calendar_instant order by fire, recorded_at"
        )
        return [tuple(row.values()) for row in rows]

    async def to_come(self) -> list[datetime]:
        """What is pending, earliest first."""
        return [fire for fire, state, _, _ in await self.instants() if state == "pending"]

    async def told(self) -> list[str]:
        """The kinds of the notices, in order."""
        return [
            row["kind"] for row in await self.plane.rows("select kind from mailbox.notice order by first_at")
        ]


class CalendarFile:
    """A calendar in a file that changes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "team.ics"

    def write(self, *entries: str, kind: str = "VEVENT") -> None:
        self.path.write_bytes(calendar(*entries, kind=kind).encode())
