"""Calendar periods: the minute, hour, day, week or month that an instant falls into, as a zone counts them."""

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from sereno.subscriptions.rate import Period

LENGTH: dict[Period, timedelta] = {
    "min": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
}
"""How long a period is where it slides instead of following the calendar."""


def bounds(per: Period, at: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Where the period around `at` begins (included) and ends (not included), in UTC; a week begins on Monday.

    A minute and an hour are real time, an hour where the zone's clock shows :00; a day is from local midnight to the
    next, so it has 23 to 25 hours where the clocks change. A midnight that does not exist is the moment after the gap.
    """
    return _bounds(per, at.replace(second=0, microsecond=0), zone)


@lru_cache(maxsize=4096)
def _bounds(per: Period, minute: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    if per == "min":
        return minute, minute + LENGTH[per]
    local = minute.astimezone(zone)
    if per == "hour":
        start = minute - timedelta(minutes=local.minute, seconds=local.second)
        return start, start + LENGTH[per]
    day = local.date()
    if per == "week":
        first, last = day - timedelta(days=day.weekday()), day + timedelta(days=7 - day.weekday())
    elif per == "month":
        first = day.replace(day=1)
        last = (first + timedelta(days=32)).replace(day=1)
    else:
        first, last = day, day + timedelta(days=1)
    return opening(datetime.combine(first, time()), zone), opening(datetime.combine(last, time()), zone)


def opening(local: datetime, zone: ZoneInfo, *, last: bool = False) -> datetime:
    """The instant (UTC) at which the zone's clock first reaches this naive local time, or `last` does.

    In a gap that is the moment of the change, when the clock jumps past it.
    """
    earlier = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    later = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if later < earlier:
        # In a gap the two readings stand on both sides of the change; what the clock jumps over tells where it is.
        return _change_between(later, earlier, zone)
    return later if last else earlier


def _change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)
