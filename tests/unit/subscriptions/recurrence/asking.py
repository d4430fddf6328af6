"""Short ways to ask for instants."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

from sereno.subscriptions.recurrence.calendar_series import by_uid, read_series
from sereno.subscriptions.recurrence.calendar_text import parse_calendar
from sereno.subscriptions.recurrence.declared import declared_series
from sereno.subscriptions.recurrence.local_time import Policy
from sereno.subscriptions.recurrence.series import Series, occurrences


def series(rule: str, start: str, zone: str | None = None, policy: Policy | None = None) -> Series:
    return declared_series(
        start, ZoneInfo(zone) if zone else None, rules=[rule] if rule else [], policy=policy or Policy()
    )


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def first(of: Series, count: int) -> list[str]:
    return [f"{each.instant:%Y-%m-%dT%H:%M}" for each in islice(occurrences(of), count)]


def calendar(*entries: Sequence[str], zones: str = "", properties: str = "") -> str:
    """A calendar of events, each given by its lines."""
    bodies = "".join(
        "BEGIN:VEVENT\r\nUID:u\r\n" + "".join(f"{line}\r\n" for line in lines) + "END:VEVENT\r\n"
        for lines in entries
    )
    return f"BEGIN:VCALENDAR\r\n{properties}{zones}{bodies}END:VCALENDAR\r\n"


def of_text(text: str, policy: Policy | None = None) -> Series:
    read = parse_calendar(text)
    ((uid, entries),) = by_uid(read)
    return read_series(uid, entries, read, None, policy or Policy()).series
