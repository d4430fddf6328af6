"""When a time source fires: one instant, one every so often, or by a rule, a cron line or iCalendar text."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from sereno.subscriptions.models.source import TimeSource
from sereno.subscriptions.recurrence.declared import declared_series, declared_times
from sereno.subscriptions.recurrence.local_time import Policy
from sereno.subscriptions.recurrence.recurring import Recurring, of_calendar, of_cron, of_series
from sereno.subscriptions.recurrence.refusal import Refused

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, tzinfo=UTC)
MOST_OFTEN = timedelta(minutes=1)
LOOKED_AT = 1_000
CRON_FIELDS = 5
_MOMENT = timedelta(microseconds=1)


def first_after(source: TimeSource, after: datetime) -> datetime | None:
    """The first instant (UTC) strictly later than `after`, or None when there is none.

    An interval counts in real time from its `start`, which is itself an instant; without one, from
    1970-01-01T00:00:00Z. Refused (a ValueError) when the rule cannot be read or expanded exactly.
    """
    if source.at is not None:
        return source.at if source.at > after else None
    if source.every is None:
        return next(recurring(source).since(after + _MOMENT), None)
    start = source.start or EPOCH
    if after < start:
        return start
    return _within(start, source.every, (after - start) // source.every + 1)


def _within(start: datetime, every: timedelta, steps: int) -> datetime | None:
    if every > (LAST - start) / steps:
        return None
    return start + every * steps


def instants(source: TimeSource, after: datetime, before: datetime) -> Iterator[datetime]:
    """The instants later than `after` and earlier than `before`, in order; both ends are exclusive."""
    if source.at is None and source.every is None:
        yield from _recurring_between(source, after, before)
        return
    instant = first_after(source, after)
    while instant is not None and instant < before:
        yield instant
        instant = first_after(source, instant)


def _recurring_between(source: TimeSource, after: datetime, before: datetime) -> Iterator[datetime]:
    for instant in recurring(source).since(after + _MOMENT):
        if instant >= before:
            return
        yield instant


def last_before(source: TimeSource, before: datetime) -> datetime | None:
    """The last instant strictly earlier than `before`, or None when there is none: what `misfire: latest` fires."""
    if source.at is not None:
        return source.at if source.at < before else None
    if source.every is None:
        return recurring(source).last_before(before)
    start = source.start or EPOCH
    if before <= start:
        return None
    steps = -(-(before - start) // source.every) - 1
    return start + source.every * steps


@lru_cache(maxsize=4096)
def recurring(source: TimeSource) -> Recurring:
    """The compiled rule, cron line or calendar text of a time source; Refused says why there is none."""
    zone = ZoneInfo(source.zone) if source.zone is not None else None
    policy = Policy(source.gap or "shift", source.overlap or "first")
    if source.cron is not None or source.ics is not None:
        changes = (
            tuple(declared_times("RDATE", source.rdates)),
            tuple(declared_times("EXDATE", source.exdates)),
        )
        if source.ics is not None:
            return of_calendar(source.ics, zone, policy, *changes)
        if source.cron is not None and zone is not None:
            return of_cron(source.cron, zone, *changes)
    if source.rrule is None or source.dtstart is None:
        raise Refused("bad_input", "expected one of at, every, rrule with dtstart, cron with zone, ics")
    series = declared_series(
        source.dtstart,
        zone,
        rules=(source.rrule,),
        rdates=source.rdates,
        exdates=source.exdates,
        policy=policy,
    )
    return of_series(series)


def objection(source: TimeSource, now: datetime) -> Refused | None:
    """Why a subscription may not have this source: it never fires after `now`, or more than once a minute.

    How often it fires is judged by its first 1,000 instants after `now`.
    """
    looked_at = LOOKED_AT if _may_fire_too_often(source) else 1
    try:
        found = list(islice(instants(source, now, LAST), looked_at))
    except Refused as refused:
        return refused
    if not found:
        return Refused(
            "never_fires",
            f"never fires: expected a time later than {now:%Y-%m-%dT%H:%M:%SZ}",
        )
    if any(later - earlier < MOST_OFTEN for earlier, later in pairwise(found)):
        return Refused("bad_rule", "fires more than once a minute: expected a minute between two times")
    return None


def _may_fire_too_often(source: TimeSource) -> bool:
    """Whether two times can lie within a minute: a rule by minutes or longer has one second in each."""
    if source.every is not None:
        return source.every < MOST_OFTEN
    if source.at is not None:
        return False
    if source.ics is not None or source.rdates:
        return True
    if source.cron is not None:
        return len(source.cron.split()) != CRON_FIELDS
    rule = (source.rrule or "").upper()
    return "SECONDLY" in rule or "BYSECOND" in rule
