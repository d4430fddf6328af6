"""Schedules: what a time subscription amounts to, and what is to be done about the instants that are due (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from sereno.subscriptions import schedule as rule
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.models.source import TimeSource
from sereno.subscriptions.snapshot import CatalogObject

# The grace: a signal that is later than this was missed, and the subscription's `misfire` says what becomes of it.
TOLERANCE = timedelta(seconds=5)
MAX_SIGNALS = 500
"""How many instants of one schedule are emitted in one turn; the rest follow in the next."""
MAX_COUNTED = 10_000
"""How many missed instants of a rule are counted in one turn; an interval's are reckoned, however many."""
_FIRST = datetime.min.replace(tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)

Misfire = Literal["skip", "latest", "all"]
LIVE = frozenset({State.ACTIVE, State.PAUSED})
"""The states in which a subscription has a schedule."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A time subscription's rule and how far it has come; `next_due` is None when nothing will fire again.

    `counted_from` is the moment from which on its present rule is accounted for.
    """

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
    counted_from: datetime = _FIRST


@dataclass(frozen=True, slots=True)
class Skipped:
    """A run of instants that will never be emitted, and why: `misfire`, `paused`, `edited`, or how it ended."""

    first: datetime
    last: datetime
    count: int
    reason: str


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
    if declared.kind != "Subscription" or declared.state not in LIVE:
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
        counted_from=declared.updated_at,
    )
    return begun(new, declared.updated_at, None)


def begun(schedule: Schedule, counted_from: datetime, last_instant: datetime | None) -> Schedule:
    """The schedule as its rule has it after the last instant that was written down, else from a moment on."""
    after = _just_before(counted_from)
    known = last_instant if last_instant is not None and last_instant > after else None
    return replace(
        schedule, counted_from=counted_from, last_instant=known, next_due=_next(schedule, known or after)
    )


def _just_before(moment: datetime) -> datetime:
    """So that an instant at this very moment is still to come; the calendar's first moment has none before it."""
    return moment - _MOMENT if moment > _FIRST else moment


def reconcile(old: Schedule | None, declared: Schedule) -> Schedule:
    """The schedule after a declaration changed: a new rule is counted anew, an old one keeps how far it came."""
    if old is None:
        return declared
    if old.source != declared.source:
        return begun(declared, declared.counted_from, old.last_instant)
    kept = replace(
        declared, last_instant=old.last_instant, next_due=old.next_due, counted_from=old.counted_from
    )
    if old.expires == declared.expires:
        return kept
    return begun(kept, old.counted_from, old.last_instant)


def left_behind(old: Schedule, declared: Schedule) -> Skipped | None:
    """What was due by the old rule before a new one took its place, and was not written down."""
    if old.source == declared.source:
        return None
    return left_out(old, declared.counted_from, "edited")


def left_out(schedule: Schedule, until: datetime, reason: str) -> Skipped | None:
    """The instants of a schedule from `next_due` until a moment, that one excluded, as one run."""
    if schedule.next_due is None or schedule.next_due >= until:
        return None
    return _run(schedule, schedule.next_due, until, None).skipped(reason)


def advance(schedule: Schedule, now: datetime) -> Advance:
    """What is to be done about every instant from `next_due` until now."""
    first = schedule.next_due
    if first is None or first > now:
        return Advance((), None, schedule)
    if schedule.paused:
        return _skip(schedule, _run(schedule, first, now + _MOMENT, MAX_COUNTED), "paused")
    if schedule.misfire == "all" or first >= now - TOLERANCE:
        return _fire(schedule, first, now, None)
    return _after_a_gap(schedule, _run(schedule, first, now - TOLERANCE, MAX_COUNTED), now)


def _after_a_gap(schedule: Schedule, missed: "_Run", now: datetime) -> Advance:
    """Instants were missed: `latest` saves the last of them unless a newer one is due anyway, `skip` none."""
    following = _next(schedule, missed.last)
    if following is not None and following <= now:
        if missed.is_whole:
            return _fire(schedule, following, now, missed.skipped("misfire"))
        return _skip(schedule, missed, "misfire")
    if schedule.misfire == "skip":
        return _skip(schedule, missed, "misfire")
    after = replace(schedule, last_instant=missed.last, next_due=following)
    return Advance((missed.last,), missed.without_last("misfire"), after)


def _skip(schedule: Schedule, run: "_Run", reason: str) -> Advance:
    after = replace(schedule, last_instant=run.last, next_due=_next(schedule, run.last))
    return Advance((), run.skipped(reason), after)


def _fire(schedule: Schedule, first: datetime, now: datetime, skipped: Skipped | None) -> Advance:
    emitted, following = [first], None
    for instant in _after(schedule, first):
        if instant > now or len(emitted) == MAX_SIGNALS:
            following = instant
            break
        emitted.append(instant)
    after = replace(schedule, last_instant=emitted[-1], next_due=following)
    return Advance(tuple(emitted), skipped, after)


def _after(schedule: Schedule, instant: datetime) -> Iterator[datetime]:
    """The later instants of a schedule that come before its expiry, lazily."""
    return rule.instants(schedule.source, instant, schedule.expires or rule.LAST)


def _next(schedule: Schedule, after: datetime) -> datetime | None:
    return next(_after(schedule, after), None)


@dataclass(frozen=True, slots=True)
class _Run:
    """Instants in a row: the first, the last, the one before that, how many, and whether there are no more."""

    first: datetime
    last: datetime
    before_last: datetime | None
    count: int
    is_whole: bool

    def skipped(self, reason: str) -> Skipped:
        return Skipped(self.first, self.last, self.count, reason)

    def without_last(self, reason: str) -> Skipped | None:
        if self.before_last is None:
            return None
        return Skipped(self.first, self.before_last, self.count - 1, reason)


def _run(schedule: Schedule, first: datetime, until: datetime, most: int | None) -> _Run:
    """The instants from `first`, which is one, until a moment or the expiry, both excluded; at most so many."""
    end = until if schedule.expires is None else min(until, schedule.expires)
    every = schedule.source.every
    if every is not None:
        # Reckoned, not listed: a second's interval over a month is millions.
        steps = -(-(end - first) // every) - 1
        last = first + steps * every
        return _Run(first, last, last - every if steps else None, steps + 1, is_whole=True)
    last, before_last, count = first, None, 1
    for instant in rule.instants(schedule.source, first, end):
        if count == most:
            return _Run(first, last, before_last, count, is_whole=False)
        last, before_last, count = instant, last, count + 1
    return _Run(first, last, before_last, count, is_whole=True)
