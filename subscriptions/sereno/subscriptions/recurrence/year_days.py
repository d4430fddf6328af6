"""The days that a rule names within one year, or within one year of weeks."""

from collections.abc import Iterable
from datetime import date

from sereno.subscriptions.recurrence.gregorian import (
    first_of_month,
    first_of_year,
    first_week,
    length_of_month,
    length_of_year,
    weekday,
    weeks_in,
)
from sereno.subscriptions.recurrence.month_days import days_of_month, numbered, weekdays_within
from sereno.subscriptions.recurrence.rule import Rule

_MONTHS = range(1, 13)
LAST_DAY = date.max.toordinal()


def days_of_year(rule: Rule, start: date, year: int) -> list[int]:
    """Day numbers, ascending, of a rule without BYWEEKNO in a calendar year."""
    if rule.by_year_day:
        return sorted(_by_year_day(rule, year))
    if rule.by_month_day:
        return _by_month_day(rule, start, year)
    if rule.by_day and not rule.by_month:
        return sorted(set(weekdays_within(rule.by_day, first_of_year(year), length_of_year(year))))
    months = rule.by_month or (_MONTHS if rule.by_day else (start.month,))
    days: set[int] = set()
    for month in months:
        days.update(days_of_month(rule, start.day, year, month))
    return sorted(days)


def _by_month_day(rule: Rule, start: date, year: int) -> list[int]:
    months = rule.by_month or _MONTHS
    if not rule.by_day or rule.by_month or not any(day.ordinal for day in rule.by_day):
        return sorted({day for month in months for day in days_of_month(rule, start.day, year, month)})
    # Without BYMONTH a numbered weekday is counted within the year.
    chosen = set(weekdays_within(rule.by_day, first_of_year(year), length_of_year(year)))
    named = set()
    for month in months:
        named |= numbered(
            rule.by_month_day, first_of_month(year, month), length_of_month(year, month), rule.skip
        )
    return sorted(named & chosen)


def _by_year_day(rule: Rule, year: int) -> Iterable[int]:
    first, length = first_of_year(year), length_of_year(year)
    days = numbered(rule.by_year_day, first, length, rule.skip)
    if rule.by_day:
        days &= _weekdays_of_year(rule, year) if rule.skip == "OMIT" else _plain_weekdays(rule, days)
    return (day for day in days if _in_month(rule, day) and _on_month_day(rule, day))


def _plain_weekdays(rule: Rule, days: set[int]) -> set[int]:
    return {day for day in days if any(each.weekday == weekday(day) for each in rule.by_day)}


def _weekdays_of_year(rule: Rule, year: int) -> set[int]:
    if not rule.by_month:
        return set(weekdays_within(rule.by_day, first_of_year(year), length_of_year(year)))
    found: set[int] = set()
    for month in rule.by_month:
        found.update(weekdays_within(rule.by_day, first_of_month(year, month), length_of_month(year, month)))
    return found


def days_of_week_year(rule: Rule, start: date, year: int) -> list[int]:
    """Day numbers, ascending, of a rule with BYWEEKNO in the weeks of a year.

    Without a part that chooses days, it is the weekday on which the rule starts.
    """
    first, weeks = first_week(year, rule.week_start), weeks_in(year, rule.week_start)
    if rule.by_day:
        wanted = {day.weekday for day in rule.by_day}
    elif rule.by_month_day or rule.by_year_day:
        wanted = set(range(7))
    else:
        wanted = {start.weekday()}
    days: set[int] = set()
    for number in rule.by_week_number:
        week = number - 1 if number > 0 else weeks + number
        if 0 <= week < weeks:
            days.update(range(first + 7 * week, first + 7 * week + 7))
    return sorted(
        day
        for day in days
        if 1 <= day <= LAST_DAY
        and weekday(day) in wanted
        and _in_month(rule, day)
        and _on_month_day(rule, day)
        and _on_year_day(rule, day)
    )


def _in_month(rule: Rule, day: int) -> bool:
    return not rule.by_month or date.fromordinal(day).month in rule.by_month


def _on_month_day(rule: Rule, day: int) -> bool:
    if not rule.by_month_day:
        return True
    on = date.fromordinal(day)
    return on.day in rule.by_month_day or on.day - length_of_month(on.year, on.month) - 1 in rule.by_month_day


def _on_year_day(rule: Rule, day: int) -> bool:
    if not rule.by_year_day:
        return True
    year = date.fromordinal(day).year
    number = day - first_of_year(year) + 1
    return number in rule.by_year_day or number - length_of_year(year) - 1 in rule.by_year_day


def allowed_days(rule: Rule, year: int) -> list[int]:
    """Day numbers of a year that BYMONTH, BYMONTHDAY, BYYEARDAY and BYDAY let through, ascending.

    What limits a rule whose period is a day or shorter.
    """
    first = first_of_year(year)
    weekdays = {day.weekday for day in rule.by_day} or range(7)
    return [
        day
        for day in range(first, first + length_of_year(year))
        if weekday(day) in weekdays
        and _in_month(rule, day)
        and _on_month_day(rule, day)
        and _on_year_day(rule, day)
    ]
