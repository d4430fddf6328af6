"""Quiet hours: the part of each day in which nothing wakes, by the clock of a zone."""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
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
    _latest: list["_Spell"] = field(default_factory=list, repr=False)
    """The spell that was asked for last: most moments are in it again."""

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M} {self.zone.key}"

    def ends(self, at: datetime) -> datetime | None:
        """When the quiet part around `at` is over (UTC); None when `at` is in none."""
        latest = self._latest
        if latest and latest[0].begins <= at < latest[0].ends:
            return latest[0].quiet_until
        spell = _spell(self, at)
        latest[:] = [spell]
        return spell.quiet_until


class _Spell(NamedTuple):
    """From `begins` until `ends` it is either quiet or not."""

    begins: datetime
    ends: datetime
    quiet_until: datetime | None


def _spell(quiet: Quiet, at: datetime) -> _Spell:
    around = _around(quiet, at.date())
    over = max((ends for _, ends in around if ends <= at), default=at)
    for begins, ends in around:
        if begins <= at < ends:
            return _Spell(max(begins, over) if over < at else begins, ends, ends)
    return _Spell(over, min((begins for begins, _ in around if begins > at), default=at), None)


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
