"""When a subscription fires next, on whose clock, and why not when it does not."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from sereno.subscriptions import schedule
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import SubscriptionSpec, TimeSource
from sereno.subscriptions.recurrence.local_time import Shaped
from sereno.subscriptions.recurrence.refusal import Refused

_MOMENT = timedelta(microseconds=1)
_CALENDAR = "not computable: only the listeners read its calendar; sereno calendar preview --subscription shows what is to come"
_ENDED = frozenset({State.EXPIRED, State.EXHAUSTED, State.REJECTED, State.DELETED})


@dataclass(frozen=True, slots=True)
class Coming:
    """One time to come: the instant, what the clock of its zone shows then, and the policy that shaped it."""

    instant: datetime
    local: datetime
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The next times of a subscription and the zone whose clock they follow; `note` says why there are no more."""

    times: tuple[Coming, ...]
    zone: str | None = None
    note: str | None = None


def upcoming(spec: SubscriptionSpec, state: State, now: datetime, count: int) -> Upcoming:
    """The next `count` times not before `now`, as the subscription stands."""
    source = spec.source.time
    if source is None:
        if spec.source.calendar is not None:
            return Upcoming((), note=_CALENDAR)
        (kind,) = spec.source.model_dump(exclude_none=True)
        return Upcoming((), note=f"not computable: it waits for what comes from its source, {kind}")
    if state in _ENDED:
        return Upcoming((), note=f"nothing fires: it is {state}")
    try:
        return _of_time(source, spec.limits.expires, state, now, count)
    except Refused as refused:
        return Upcoming((), note=f"not computable: {refused}")


def _of_time(
    source: TimeSource, expires: datetime | None, state: State, now: datetime, count: int
) -> Upcoming:
    found = schedule.instants(source, now - _MOMENT, expires or schedule.LAST)
    times = tuple(_coming(source, islice(found, count)))
    zone = UTC if _is_fixed(source) else schedule.recurring(source).zone
    return Upcoming(times, str(zone), _note(state, expires if len(times) < count else None, times))


def _is_fixed(source: TimeSource) -> bool:
    return source.at is not None or source.every is not None


def _coming(source: TimeSource, instants: Iterator[datetime]) -> Iterator[Coming]:
    if _is_fixed(source):
        yield from (Coming(instant, instant) for instant in instants)
        return
    recurring = schedule.recurring(source)
    for instant, shaped in recurring.shaped(instants):
        yield Coming(instant, instant.astimezone(recurring.zone), _policy(source, shaped))


def _policy(source: TimeSource, shaped: Shaped | None) -> str | None:
    if shaped is None:
        return None
    if source.cron is not None:
        return "cron: in the gap, when the clock changes" if shaped == "gap" else "cron: once in the overlap"
    return f"gap: {source.gap or 'shift'}" if shaped == "gap" else f"overlap: {source.overlap or 'first'}"


def _note(state: State, expires: datetime | None, times: tuple[Coming, ...]) -> str | None:
    if state is State.PAUSED:
        return "it is paused: what falls into the pause is skipped"
    if state is not State.ACTIVE:
        return f"it is {state}: nothing fires until it is active"
    if expires is not None:
        return f"it expires at {expires:%Y-%m-%dT%H:%M:%SZ}"
    return None if times else "no time is to come any more"
