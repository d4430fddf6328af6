"""When something is due around the dated entries of a calendar: at their start, end or due time plus an offset."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from heapq import heappop, heappush, merge
from operator import attrgetter
from typing import Literal

from sereno.subscriptions.recurrence.calendar_series import CalendarSeries, by_uid, read_series
from sereno.subscriptions.recurrence.calendar_text import Calendar, Component
from sereno.subscriptions.recurrence.local_time import DEFAULT, Policy
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule_instants import Start
from sereno.subscriptions.recurrence.series import BEGINNING, END, Occurrence, occurrences

Anchor = Literal["start", "end", "due"]
_NOTHING, _SLACK = timedelta(), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Fire:
    """One wake-up before or after an occurrence: when, for which occurrence of which entry, and when that starts.

    Times are UTC; where `of.floating` they stand for times without a zone. `recurrence_id` is None for an entry
    that does not repeat. `anchor` is the start, end or due time from which `fire` is reckoned.
    """

    uid: str | None
    recurrence_id: datetime | None
    start: datetime
    fire: datetime
    of: Start
    anchor: datetime
    entry: Component


@dataclass(frozen=True, slots=True)
class RefusedSeries:
    """A UID whose entries cannot be read exactly, and why."""

    uid: str | None
    refusal: Refused


def read_all(
    calendar: Calendar, zone: tzinfo | None = None, policy: Policy = DEFAULT
) -> tuple[list[CalendarSeries], list[RefusedSeries]]:
    """Every series of a calendar, and those that are refused; a fault in one does not hide the others."""
    read, refused = [], []
    for uid, entries in by_uid(calendar):
        try:
            read.append(read_series(uid, entries, calendar, zone, policy))
        except Refused as refusal:
            refused.append(RefusedSeries(uid, refusal))
    return read, refused


def fires(
    series: Iterable[CalendarSeries], anchor: Anchor, offset: timedelta, since: datetime = BEGINNING
) -> Iterator[Fire]:
    """The fires of all series not before `since`, ascending, lazily."""
    reached = [each for each in series if not each.is_cancelled and _has(each.entries[0], anchor)]
    return merge(*(_in_order(each, anchor, offset, since) for each in reached), key=attrgetter("fire"))


def _has(entry: Component, anchor: Anchor) -> bool:
    """Whether an entry has such a time: an event ends, a task is due."""
    if anchor == "end":
        return entry.kind == "VEVENT"
    if anchor == "due":
        return entry.kind == "VTODO" and any(name in entry.properties for name in ("DUE", "DURATION"))
    return entry.kind == "VEVENT" or "DTSTART" in entry.properties


def _in_order(series: CalendarSeries, anchor: Anchor, offset: timedelta, since: datetime) -> Iterator[Fire]:
    """The fires of one series, ascending also where a later occurrence ends earlier."""
    shortest, longest = _reach(series) if anchor != "start" else (_NOTHING, _NOTHING)
    waiting: list[tuple[datetime, int, Fire]] = []
    for number, each in enumerate(occurrences(series.series, _moved(since, -offset - longest))):
        found = _fire(series, each, anchor, offset)
        if found is not None:
            heappush(waiting, (found.fire, number, found))
        frontier = _moved(each.instant, offset + shortest)
        while waiting and waiting[0][0] <= frontier:
            due = heappop(waiting)[2]
            if due.fire >= since:
                yield due
    while waiting:
        due = heappop(waiting)[2]
        if due.fire >= since:
            yield due


def _reach(series: CalendarSeries) -> tuple[timedelta, timedelta]:
    """How soon and how late an occurrence can end after its start; a clock change can add or take a day at most."""
    lengths = [timedelta(days=each.days) + each.exact for each in (*series.lengths, *series.periods.values())]
    return min(lengths) - _SLACK, max(lengths) + _SLACK


def _fire(series: CalendarSeries, each: Occurrence, anchor: Anchor, offset: timedelta) -> Fire | None:
    start = series.series.start
    repeats = bool(series.series.rules or series.series.added or series.series.overrides)
    length = series.lengths[each.entry]
    if each.entry == 0 and series.series.has_master:
        length = series.periods.get(each.original, length)
    try:
        due = each.instant if anchor == "start" else length.after(each.instant, start.zone)
        fire = due + offset
    except OverflowError:
        return None
    identity = each.original if repeats else None
    return Fire(series.uid, identity, each.instant, fire, start, due, series.entries[each.entry])


def _moved(instant: datetime, by: timedelta) -> datetime:
    try:
        return instant + by
    except OverflowError:
        return BEGINNING if by < _NOTHING else END
