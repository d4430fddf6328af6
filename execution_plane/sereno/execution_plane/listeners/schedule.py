"""Schedules: what a time subscription amounts to, and what is to be done about the instants that are due (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Literal
from uuid import UUID

from sereno.subscriptions import schedule as rule
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.models.source import TimeSource
from sereno.subscriptions.snapshot import CatalogObject

# A signal that is later than this was missed, and the subscription's `misfire` says what becomes of it.
TOLERANCE = timedelta(seconds=5)
MAX_SIGNALS = 500
"""How many instants of one schedule are emitted in one turn; the rest follow in the next."""
_FIRST = datetime.min.replace(tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)

Misfire = Literal["skip", "latest", "all"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A time subscription's rule and how far it has come; `next_due` is None when nothing will fire again."""

    tenant: str
    id: str
    subscription: str
    version: int
    source: TimeSource
    misfire: Misfire
    paused: bool
    expires: datetime | None
    next_due: datetime | None
    last_instant: datetime | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A run of instants that will never be emitted, and why."""

    first: datetime
    last: datetime
    count: int
    reason: Literal["misfire", "paused"]


@dataclass(frozen=True, slots=True)
class Advance:
    """One step of a schedule: what to emit, what to leave out, and the schedule afterwards."""

    emit: tuple[datetime, ...]
    skipped: Skipped | None
    schedule: Schedule


def of_object(declared: CatalogObject) -> Schedule | None:
    """The schedule of a declared subscription; None when it has none or may not fire now.

    It starts behind the moment of the declaration, so that nothing is missed while that travels. Raises ValueError
    when it is of a form not known here.
    """
    if declared.kind != "Subscription" or declared.state not in (State.ACTIVE, State.PAUSED):
        return None
    spec = SubscriptionSpec.model_validate(declared.spec)
    if spec.source.time is None:
        return None
    new = Schedule(
        tenant=declared.tenant,
        id=str(UUID(declared.id)),
        subscription=declared.name,
        version=declared.version,
        source=spec.source.time,
        misfire=spec.misfire,
        paused=declared.state == State.PAUSED,
        expires=spec.limits.expires,
        next_due=None,
    )
    return replace(new, next_due=_next(new, _just_before(declared.updated_at)))


def _just_before(moment: datetime) -> datetime:
    """So that an instant at this very moment is still to come; the calendar's first moment has none before it."""
    return moment - _MOMENT if moment > _FIRST else moment


def reconcile(old: Schedule | None, declared: Schedule) -> Schedule:
    """The schedule after a declaration changed: a new rule is counted anew, an old one keeps how far it came."""
    if old is None or old.source != declared.source:
        return declared
    kept = replace(declared, last_instant=old.last_instant, next_due=old.next_due)
    if old.expires == declared.expires:
        return kept
    return replace(kept, next_due=_next(kept, old.last_instant) if old.last_instant else declared.next_due)


def advance(schedule: Schedule, now: datetime) -> Advance:
    """What is to be done about every instant from `next_due` until now."""
    if schedule.next_due is None or schedule.next_due > now:
        return Advance((), None, schedule)
    if schedule.paused:
        return _skip_all(schedule, now)
    missed_until = now - TOLERANCE
    if schedule.misfire == "all" or schedule.next_due >= missed_until:
        return _emit(schedule, islice(_due(schedule, schedule.next_due, now), MAX_SIGNALS), None)
    return _after_a_gap(schedule, schedule.next_due, missed_until, now)


def _after_a_gap(schedule: Schedule, first: datetime, missed_until: datetime, now: datetime) -> Advance:
    """Instants were missed: `latest` saves the last of them unless a newer one is due anyway, `skip` none."""
    last_missed = _last_before(schedule, missed_until)
    on_time = tuple(islice(_due(schedule, missed_until, now), MAX_SIGNALS))
    saved = () if last_missed is None or on_time or schedule.misfire == "skip" else (last_missed,)
    lost_until = _last_before(schedule, saved[0]) if saved else last_missed
    skipped = _skipped(schedule, first, lost_until, "misfire")
    return _emit(schedule, iter((*saved, *on_time)), skipped)


def _skip_all(schedule: Schedule, now: datetime) -> Advance:
    skipped = _skipped(schedule, schedule.next_due or now, _last_before(schedule, now + _MOMENT), "paused")
    return _emit(schedule, iter(()), skipped)


def _emit(schedule: Schedule, instants: Iterator[datetime], skipped: Skipped | None) -> Advance:
    emitted = tuple(instants)
    last = emitted[-1] if emitted else skipped.last if skipped else schedule.last_instant
    after = schedule if last is None else replace(schedule, last_instant=last, next_due=_next(schedule, last))
    return Advance(emitted, skipped, after)


def _due(schedule: Schedule, first: datetime, now: datetime) -> Iterator[datetime]:
    """The instants from `first` until now, both included, that come before the expiry."""
    end = now + _MOMENT if schedule.expires is None else min(now + _MOMENT, schedule.expires)
    return rule.instants(schedule.source, first - _MOMENT, end)


def _last_before(schedule: Schedule, moment: datetime) -> datetime | None:
    end = moment if schedule.expires is None else min(moment, schedule.expires)
    return rule.last_before(schedule.source, end)


def _next(schedule: Schedule, after: datetime) -> datetime | None:
    instant = rule.first_after(schedule.source, after)
    ends = instant is None or (schedule.expires is not None and instant >= schedule.expires)
    return None if ends else instant


def _skipped(
    schedule: Schedule, first: datetime, last: datetime | None, reason: Literal["misfire", "paused"]
) -> Skipped | None:
    if last is None or last < first:
        return None
    every = schedule.source.every
    # Counted, not listed: a second's interval over a month is millions.
    count = 1 if every is None else (last - first) // every + 1
    return Skipped(first, last, count, reason)
