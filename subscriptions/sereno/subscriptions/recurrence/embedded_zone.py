"""A zone that a calendar defines itself (VTIMEZONE): its onsets are rules like any other."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import takewhile

from sereno.subscriptions.recurrence.local_time import DEFAULT
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule import Rule
from sereno.subscriptions.recurrence.rule_instants import Start, rule_instants
from sereno.subscriptions.recurrence.steps import Steps

_FIRST_YEAR = 1900
_FIRST_HORIZON, _AHEAD = 2030, 80
_MAX_STEPS = 200_000
_EARLIEST = datetime(1, 1, 3)


@dataclass(frozen=True, slots=True)
class Observance:
    """From each onset (local time by the clock before it) on, the clock is `to` ahead of UTC instead of `before`."""

    start: datetime
    before: timedelta
    to: timedelta
    rules: tuple[Rule, ...] = ()
    dates: tuple[datetime, ...] = ()


class EmbeddedZone(tzinfo):
    """The clock of some observances; before the first onset it is as that onset found it."""

    def __init__(self, name: str, observances: Iterable[Observance]) -> None:
        self._name = name
        self._observances = tuple(observances)
        if not self._observances:
            raise Refused("bad_calendar", f"VTIMEZONE {name}: expected at least one STANDARD or DAYLIGHT")
        self._until = 0
        self._onsets: list[datetime] = []
        self._offsets: list[timedelta] = []
        self._extend(_FIRST_HORIZON)

    def _extend(self, year: int) -> None:
        self._until = min(year + _AHEAD, 9999)
        found = sorted({onset for each in self._observances for onset in _onsets(each, self._until)})
        self._first = found[0][1]
        self._onsets = [onset for onset, _, _ in found]
        self._offsets = [to for _, _, to in found]

    def utcoffset(self, when: datetime | None) -> timedelta:
        """How far the clock is ahead of UTC; in a gap as before the change, twice the same time by `fold`."""
        if when is None:
            return self._first
        if when.year >= self._until - 1 and self._until < 9999:  # noqa: PLR2004 - the last year
            self._extend(when.year)
        local = when.replace(tzinfo=None, fold=0)
        index = self._index_near(local)
        earlier, later = self._offset(index - 1), self._offset(index)
        if index < 0 or earlier == later:
            return later
        onset = self._onsets[index]
        # Local times from the smaller to the larger of both readings of the onset are missing or doubled.
        lower = onset + min(earlier, later)
        if not lower <= local < onset + max(earlier, later):
            return later
        return later if when.fold else earlier

    def _index_near(self, local: datetime) -> int:
        """The last onset that, by either clock, is not after a local time; -1 before the first."""
        index = bisect_right(self._onsets, local + timedelta(hours=26)) - 1
        while index >= 0 and local < self._onsets[index] + min(self._offset(index - 1), self._offset(index)):
            index -= 1
        return index

    def _offset(self, index: int) -> timedelta:
        return self._offsets[index] if index >= 0 else self._first

    def fromutc(self, when: datetime) -> datetime:
        """The clock at an instant, with `fold` where it shows that time again."""
        utc = when.replace(tzinfo=None)
        if utc.year >= self._until - 1 and self._until < 9999:  # noqa: PLR2004 - the last year
            self._extend(utc.year)
        index = bisect_right(self._onsets, utc) - 1
        offset, before = self._offset(index), self._offset(index - 1)
        repeated = index >= 0 and utc < self._onsets[index] + (before - offset)
        return (when + offset).replace(fold=1 if repeated else 0)

    def dst(self, when: datetime | None) -> timedelta | None:  # noqa: ARG002 - what tzinfo asks of a zone
        return None

    def tzname(self, when: datetime | None) -> str:  # noqa: ARG002 - what tzinfo asks of a zone
        return self._name


def _onsets(each: Observance, until: int) -> Iterable[tuple[datetime, timedelta, timedelta]]:
    """(UTC as a naive time, offset before, offset from then on) of the onsets up to a year."""
    start = Start(each.start, UTC, floating=True)
    steps = Steps(_MAX_STEPS)
    since = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC)
    locals_ = {each.start, *each.dates}
    for rule in each.rules:
        placed = rule_instants(_in_local_time(rule, each.before), start, DEFAULT, since, steps)
        near = takewhile(lambda found: found.instant.year <= until, placed)
        locals_.update(found.instant.replace(tzinfo=None) for found in near)
    return [(local - each.before, each.before, each.to) for local in locals_ if local > _EARLIEST]


def _in_local_time(rule: Rule, before: timedelta) -> Rule:
    """The rule with its UNTIL, which a VTIMEZONE states in UTC, on the clock before the onset."""
    until = rule.until
    if not isinstance(until, datetime) or until.tzinfo is None:
        return rule
    return replace(rule, until=(until + before).replace(tzinfo=None))
