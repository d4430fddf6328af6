"""Quiet hours: the part of each day in which nothing wakes, by the clock of a zone."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from sereno.subscriptions.models.limits import Then
from sereno.subscriptions.period import opening

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, eq=False)
class Quiet:
    """From `start` until `end` of the zone's clock, past midnight when `end` is the earlier one.

    On the day of a clock change the quiet part is the longer reading: from the first time the clock shows `start`
    until the last time it shows `end`; a time that the clock jumps over is the moment of the change.
    """

    zone: ZoneInfo
    start: time
    end: time
    then: Then

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M} {self.zone.key}"

    def ends(self, at: datetime) -> datetime | None:
        """When the quiet part around `at` is over (UTC); None when `at` is in none."""
        for begins, ends in _around(self, at.date()):
            if begins <= at < ends:
                return ends
        return None


@lru_cache(maxsize=1024)
def _around(quiet: Quiet, day: date) -> tuple[tuple[datetime, datetime], ...]:
    """The quiet parts that may touch a day of UTC; local days are at most one away from it on either side."""
    if not date.min + 3 * _DAY < day < date.max - 3 * _DAY:
        return ()
    return tuple(_of_day(quiet, day + shift * _DAY) for shift in (-2, -1, 0, 1))


def _of_day(quiet: Quiet, day: date) -> tuple[datetime, datetime]:
    overnight = quiet.end <= quiet.start
    begins = opening(datetime.combine(day, quiet.start), quiet.zone)
    ends = opening(datetime.combine(day + _DAY if overnight else day, quiet.end), quiet.zone, last=True)
    return begins, ends
