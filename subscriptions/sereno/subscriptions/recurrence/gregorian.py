"""The Gregorian calendar as day numbers (`date.toordinal`), and weeks that start on any weekday."""

from calendar import isleap, monthrange
from datetime import MAXYEAR, MINYEAR, date

CYCLE_YEARS = 400
"""After so many years the calendar repeats, weekdays included."""


def first_of_year(year: int) -> int:
    """The day number of 1 January, also of year 0 and year 10000."""
    if year <= MINYEAR - 1:
        return date(MINYEAR, 1, 1).toordinal() - 366
    if year > MAXYEAR:
        return date(MAXYEAR, 12, 31).toordinal() + 1
    return date(year, 1, 1).toordinal()


def length_of_year(year: int) -> int:
    """365 or 366."""
    return 366 if isleap(year) else 365


def first_of_month(year: int, month: int) -> int:
    """The day number of the first of a month."""
    return date(year, month, 1).toordinal()


def length_of_month(year: int, month: int) -> int:
    """28 to 31."""
    return monthrange(year, month)[1]


def weekday(day: int) -> int:
    """The weekday of a day number; Monday is 0."""
    return (day - 1) % 7


def week_of(day: int, week_start: int) -> int:
    """The first day of the week in which a day lies."""
    return day - (weekday(day) - week_start) % 7


def first_week(year: int, week_start: int) -> int:
    """The first day of week 1 of a year: the first week with at least four days in it."""
    return week_of(first_of_year(year) + 3, week_start)


def weeks_in(year: int, week_start: int) -> int:
    """52 or 53."""
    return (first_week(year + 1, week_start) - first_week(year, week_start)) // 7


def week_year(day: date, week_start: int) -> int:
    """The year to which the week of a day belongs."""
    number = day.toordinal()
    if number >= first_week(day.year + 1, week_start):
        return day.year + 1
    return day.year if number >= first_week(day.year, week_start) else day.year - 1
