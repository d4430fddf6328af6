"""The periods of a rule, each as the days it names: years, months, weeks or days, every INTERVAL-th of them."""

from calendar import isleap
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import MAXYEAR, date
from math import gcd

from sereno.subscriptions.recurrence import gregorian
from sereno.subscriptions.recurrence.month_days import days_of_month
from sereno.subscriptions.recurrence.rule import Frequency, Rule
from sereno.subscriptions.recurrence.year_days import (
    LAST_DAY,
    allowed_days,
    days_of_week_year,
    days_of_year,
)

_CYCLE_DAYS = 146_097
_CYCLE_MONTHS = 12 * gregorian.CYCLE_YEARS
_CYCLE_WEEKS = _CYCLE_DAYS // 7

Days = list[int]


class KindsOfYear:
    """The days of any year, computed once for each kind of year (leap or not, weekday of 1 January, neighbours)."""

    def __init__(self, days: Callable[[int], Days]) -> None:
        self._days = days
        self._known: dict[tuple[bool, bool, bool, int], Days] = {}

    def __call__(self, year: int) -> Days:
        first = gregorian.first_of_year(year)
        kind = (isleap(year - 1), isleap(year), isleap(year + 1), gregorian.weekday(first))
        if kind not in self._known:
            self._known[kind] = [day - first for day in self._days(year)]
        return [first + offset for offset in self._known[kind]]


def fruitless_limit(rule: Rule) -> int:
    """After so many periods in a row without a day the calendar has repeated itself: there will never be one."""
    if rule.frequency is Frequency.YEARLY:
        return gregorian.CYCLE_YEARS
    if rule.frequency is Frequency.MONTHLY:
        return _CYCLE_MONTHS
    if rule.frequency is Frequency.WEEKLY:
        return _CYCLE_WEEKS
    return gregorian.CYCLE_YEARS * rule.interval // gcd(rule.interval, _CYCLE_DAYS)


def periods(rule: Rule, start: date, since: date) -> Iterator[Days]:
    """The days of each period, ascending, from about `since` (never later) until the end of the year 9999.

    A rule by days yields an empty list for each year in which it names none.
    """
    if rule.frequency is Frequency.YEARLY:
        return _years(rule, start, since)
    if rule.frequency is Frequency.MONTHLY:
        return _months(rule, start, since)
    if rule.frequency is Frequency.WEEKLY:
        return _weeks(rule, start, since)
    return _days(rule, start, since)


def _skipped(distance: int, interval: int) -> int:
    """How far a rule can be moved on without passing a period that is `distance` away."""
    return max(0, distance // interval) * interval


def _years(rule: Rule, start: date, since: date) -> Iterator[Days]:
    if rule.by_week_number:
        days = KindsOfYear(lambda year: days_of_week_year(rule, start, year))
        first = _first_week_year(rule, start, days)
    else:
        days = KindsOfYear(lambda year: days_of_year(rule, start, year))
        first = start.year
    first += _skipped(since.year - 1 - first, rule.interval)
    for year in range(first, MAXYEAR + 1, rule.interval):
        yield days(year)


def _first_week_year(rule: Rule, start: date, days: KindsOfYear) -> int:
    """The year from which INTERVAL counts: that of the start's week while it still has a day to offer.

    As libical does (its issue 1223); RFC 5545 is silent.
    """
    year = gregorian.week_year(start, rule.week_start)
    if year < start.year:
        return year if year >= 1 and any(day >= start.toordinal() for day in days(year)) else start.year
    return year if year == start.year or (year <= MAXYEAR and days(year)) else start.year


def _months(rule: Rule, start: date, since: date) -> Iterator[Days]:
    known: dict[tuple[int, int], Days] = {}
    index = start.year * 12 + start.month - 1
    index += _skipped(since.year * 12 + since.month - 2 - index, rule.interval)
    for each in range(index, (MAXYEAR + 1) * 12, rule.interval):
        year, month = each // 12, each % 12 + 1
        if rule.by_month and month not in rule.by_month:
            yield []
            continue
        first = gregorian.first_of_month(year, month)
        kind = (gregorian.weekday(first), gregorian.length_of_month(year, month))
        if kind not in known:
            known[kind] = [day - first for day in days_of_month(rule, start.day, year, month)]
        yield [first + offset for offset in known[kind]]


def _weeks(rule: Rule, start: date, since: date) -> Iterator[Days]:
    weekdays = sorted(
        {(day.weekday - rule.week_start) % 7 for day in rule.by_day}
        or {(start.weekday() - rule.week_start) % 7}
    )
    first = gregorian.week_of(start.toordinal(), rule.week_start)
    step = 7 * rule.interval
    first += _skipped(since.toordinal() - 7 - first, step)
    for week in range(first, LAST_DAY + 1, step):
        days = [week + offset for offset in weekdays]
        if rule.by_month:
            days = [d for d in days if 1 <= d <= LAST_DAY and date.fromordinal(d).month in rule.by_month]
        yield days


def _days(rule: Rule, start: date, since: date) -> Iterator[Days]:
    first = start.toordinal()
    if not (rule.by_month or rule.by_month_day or rule.by_day):
        first += _skipped(since.toordinal() - first, rule.interval)
        for day in range(first, LAST_DAY + 1, rule.interval):
            yield [day]
        return
    limited = _on_reachable_weekdays(rule, start)
    if limited is None:
        return
    allowed = KindsOfYear(lambda year: allowed_days(limited, year))
    for year in range(max(start.year, since.year), MAXYEAR + 1):
        hits = [day for day in allowed(year) if day >= first and (day - first) % rule.interval == 0]
        yield from ([day] for day in hits) if hits else ([],)


def _on_reachable_weekdays(rule: Rule, start: date) -> Rule | None:
    """The rule without the weekdays that it never reaches, because it steps in whole weeks; None when none is left."""
    if not rule.by_day or rule.interval % 7:
        return rule
    reachable = tuple(day for day in rule.by_day if day.weekday == start.weekday())
    return replace(rule, by_day=reachable) if reachable else None
