"""Whether a rule in elapsed time can ever fire: which times of a day or a week its steps reach at all."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import product
from math import gcd

from sereno.subscriptions.recurrence.elapsed_time import UNITS
from sereno.subscriptions.recurrence.rule import Frequency, Rule
from sereno.subscriptions.recurrence.year_days import allowed_days

_DAY = 86_400
_WEEK = 7 * _DAY
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
_END = datetime(9999, 12, 30, tzinfo=UTC)
_LOOK_AHEAD, _LOOK_EVERY = timedelta(days=60 * 365), timedelta(days=15)
_ALL_KINDS_OF_YEAR = range(2000, 2028)


def can_fire(rule: Rule, start: datetime, zone: tzinfo) -> bool:
    """False when no step of the rule can ever fall on a day, a time of day or a position that it names."""
    limits = (rule.by_month, rule.by_month_day, rule.by_year_day, rule.by_day)
    if any(limits) and not any(allowed_days(rule, year) for year in _ALL_KINDS_OF_YEAR):
        return False
    if rule.by_position and all(abs(position) > _most_in_a_cell(rule) for position in rule.by_position):
        return False
    if not (rule.by_hour or rule.by_day or rule.by_minute or rule.by_second):
        return True
    unit = UNITS[rule.frequency]
    common = gcd(unit * rule.interval, _WEEK if rule.by_day else _DAY)
    reached = _reached(start, zone, unit)
    return not {second % common for second in reached}.isdisjoint(second % common for second in _named(rule))


def _most_in_a_cell(rule: Rule) -> int:
    seconds = len(rule.by_second) or 1
    if rule.frequency is Frequency.HOURLY:
        return seconds * (len(rule.by_minute) or 1)
    return seconds if rule.frequency is Frequency.MINUTELY else 1


def _named(rule: Rule) -> Iterator[int]:
    """Seconds since Monday of the hours, minutes or seconds that limit the rule; what it expands to does not."""
    days = sorted({day.weekday for day in rule.by_day}) or (0,)
    hours = rule.by_hour or range(24)
    minutes = (rule.by_minute or range(60)) if rule.frequency < Frequency.HOURLY else (0,)
    seconds = (rule.by_second or range(60)) if rule.frequency < Frequency.MINUTELY else (0,)
    for day, hour, minute, second in product(days, hours, minutes, seconds):
        yield day * _DAY + hour * 3600 + minute * 60 + second


def _reached(start: datetime, zone: tzinfo, unit: int) -> set[int]:
    """Where the first step lies since Monday, by each offset that the zone has in the next 60 years.

    A cell that begins in the middle of an hour or a minute reaches into the next one.
    """
    elapsed = int((start - _MONDAY).total_seconds())
    last = min(start + _LOOK_AHEAD, _END) if start < _END - _LOOK_AHEAD else _END
    found, moment, first = set(), start, _offset(start, zone)
    while moment < last:
        offset = _offset(moment, zone)
        local = (elapsed + offset) // unit * unit
        found |= {local, local + unit} if (offset - first) % unit else {local}
        moment += _LOOK_EVERY
    return found or {(elapsed + first) // unit * unit}


def _offset(instant: datetime, zone: tzinfo) -> int:
    return int((instant.astimezone(zone).utcoffset() or timedelta()).total_seconds())
