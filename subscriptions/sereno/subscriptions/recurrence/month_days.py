"""The days that a rule names within one month."""

from collections.abc import Iterator, Sequence

from sereno.subscriptions.recurrence.gregorian import first_of_month, length_of_month, weekday
from sereno.subscriptions.recurrence.rule import Rule, Skip, Weekday


def days_of_month(rule: Rule, start_day: int, year: int, month: int) -> list[int]:
    """Day numbers, ascending: by BYMONTHDAY, else BYDAY, else the day of the month on which the rule starts."""
    first, length = first_of_month(year, month), length_of_month(year, month)
    if rule.by_month_day:
        named = numbered(rule.by_month_day, first, length, rule.skip)
        if rule.by_day:
            chosen = set(weekdays_within(rule.by_day, first, length))
            # A day that SKIP moved out of the month is judged by its weekday alone.
            named = {day for day in named if day in chosen or _matches_outside(rule, day, first, length)}
    elif rule.by_day:
        named = set(weekdays_within(rule.by_day, first, length))
    else:
        named = numbered((start_day,), first, length, rule.skip)
    return sorted(named)


def _matches_outside(rule: Rule, day: int, first: int, length: int) -> bool:
    outside = not first <= day < first + length
    return outside and any(not each.ordinal and each.weekday == weekday(day) for each in rule.by_day)


def numbered(numbers: Sequence[int], first: int, length: int, skip: Skip) -> set[int]:
    """The days with these numbers in a month or year of `length` days; negative ones count from its end.

    A number beyond the length names no day: it is left out, or read as the nearest day before or after (RFC 7529).
    """
    found = set()
    for number in numbers:
        offset = number - 1 if number > 0 else length + number
        if 0 <= offset < length:
            found.add(first + offset)
        elif skip != "OMIT":
            found.add(_nearest(offset, first, length, skip))
    return found


def _nearest(offset: int, first: int, length: int, skip: Skip) -> int:
    if offset < 0:
        return first if skip == "FORWARD" else first - 1
    return first + length if skip == "FORWARD" else first + length - 1


def weekdays_within(weekdays: Sequence[Weekday], first: int, length: int) -> Iterator[int]:
    """The days of a month or year on these weekdays; a number chooses one of them, from its start or its end."""
    for day in weekdays:
        earliest = first + (day.weekday - weekday(first)) % 7
        every = range(earliest, first + length, 7)
        if not day.ordinal:
            yield from every
            continue
        position = day.ordinal - 1 if day.ordinal > 0 else len(every) + day.ordinal
        if 0 <= position < len(every):
            yield every[position]
