"""Expands a rule whose period is a day or longer, on the wall clock: naive local times in order."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sereno.subscriptions.recurrence.periods import fruitless_limit, periods
from sereno.subscriptions.recurrence.rule import Frequency, Rule
from sereno.subscriptions.recurrence.steps import Steps
from sereno.subscriptions.recurrence.times_of_day import TimesOfDay, times_of
from sereno.subscriptions.recurrence.year_days import LAST_DAY

_LISTED = 1440


def local_times(
    rule: Rule, start: datetime, since: datetime, steps: Steps, *, whole_days: bool = False
) -> Iterator[datetime]:
    """Strictly ascending times at or after `start`, from about `since` (never later); COUNT and UNTIL are not applied.

    Ends when the rule can never fire again. Refused("too_large") when `steps` are used up.
    """
    times = times_of(rule, start, whole_days=whole_days)
    if rule.by_position and min(map(abs, rule.by_position)) > len(times) * _most_days(rule):
        return
    each_day: Sequence[timedelta] | TimesOfDay = list(times) if len(times) <= _LISTED else times
    limit = fruitless_limit(rule)
    last: datetime | None = None
    fruitless = 0
    for days in periods(rule, start.date(), since.date()):
        steps.take()
        fruitless += 1
        if fruitless > limit:
            return
        for moment in _moments(days, each_day, rule.by_position):
            fruitless = 0
            steps.take()
            if moment >= start and (last is None or moment > last):
                last = moment
                yield moment


def _most_days(rule: Rule) -> int:
    """How many days a period of the rule can name at most."""
    if rule.frequency is Frequency.WEEKLY:
        return len(rule.by_day) or 1
    return {Frequency.DAILY: 1, Frequency.MONTHLY: 31}.get(rule.frequency, 366)


def _moments(
    days: list[int], times: Sequence[timedelta] | TimesOfDay, positions: tuple[int, ...]
) -> Iterator[datetime]:
    if positions:
        yield from _at_positions(days, times, positions)
        return
    for day in days:
        if 1 <= day <= LAST_DAY:
            midnight = datetime.fromordinal(day)
            for time in times:
                yield midnight + time


def _at_positions(
    days: list[int], times: Sequence[timedelta] | TimesOfDay, positions: tuple[int, ...]
) -> Iterator[datetime]:
    total = len(days) * len(times)
    for index in sorted({p - 1 if p > 0 else total + p for p in positions if abs(p) <= total}):
        day, time = divmod(index, len(times))
        if 1 <= days[day] <= LAST_DAY:
            yield datetime.fromordinal(days[day]) + times[time]
