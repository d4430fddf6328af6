"""A series: rules, added, left out and moved occurrences, as one ascending run of occurrences."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from heapq import heappop, heappush, merge
from itertools import chain
from operator import attrgetter, itemgetter
from typing import NamedTuple

from sereno.subscriptions.recurrence.local_time import (
    DEFAULT,
    Placed,
    Policy,
    Shaped,
    anchor,
    place,
    wall_clock,
)
from sereno.subscriptions.recurrence.rule import Rule
from sereno.subscriptions.recurrence.rule_instants import Start, rule_instants
from sereno.subscriptions.recurrence.steps import Steps

BEGINNING = datetime.min.replace(tzinfo=UTC)
END = datetime.max.replace(tzinfo=UTC)
_SLACK = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Written:
    """A time as it was written: local in a zone, or a whole day (no zone)."""

    local: datetime
    zone: tzinfo | None
    whole_day: bool = False


@dataclass(frozen=True, slots=True)
class Override:
    """What became of one occurrence, or of it and all later ones: another start, or None when it is cancelled."""

    original: Written
    start: Written | None
    and_later: bool = False
    entry: int = 0
    """Which entry of the calendar says so; 0 is the one that repeats."""


@dataclass(frozen=True, slots=True)
class Series:
    """Everything that says when one thing happens; without a master there are only its overrides."""

    start: Start
    rules: tuple[Rule, ...] = ()
    excluded_rules: tuple[Rule, ...] = ()
    added: tuple[Written, ...] = ()
    left_out: tuple[Written, ...] = ()
    overrides: tuple[Override, ...] = ()
    policy: Policy = DEFAULT
    has_master: bool = True


class Occurrence(NamedTuple):
    """When it happens (UTC; floating times and days as if they were), which occurrence it was, and why then."""

    instant: datetime
    original: datetime
    shaped: Shaped | None = None
    entry: int = 0


def occurrences(
    series: Series, since: datetime = BEGINNING, steps: Steps | None = None
) -> Iterator[Occurrence]:
    """Strictly ascending occurrences not before `since`, lazily; equal instants are one occurrence."""
    budget = steps or Steps()
    changes = _Changes(series)
    excluded = Excluded(series, changes.since(since), budget)
    base = _base(series, changes.since(since), budget, changes, excluded)
    moved = merge(changes.shifted(base), changes.fixed(excluded), key=attrgetter("instant"))
    last: datetime | None = None
    for each in moved:
        if each.instant >= since and (last is None or each.instant > last):
            last = each.instant
            budget.give()
            yield each


def _base(
    series: Series, since: datetime, steps: Steps, changes: "_Changes", excluded: "Excluded"
) -> Iterator[Occurrence]:
    """The occurrences before any of them is moved: ascending, without those left out."""
    if not series.has_master:
        return
    start = series.start
    streams = [rule_instants(rule, start, series.policy, since, steps) for rule in series.rules]
    if not series.rules:
        streams.append(iter(place(start.local, start.zone, series.policy)))
    streams.append(iter(sorted(chain.from_iterable(map(changes.placed, series.added)))))
    last: datetime | None = None
    for placed in merge(*streams, key=attrgetter("instant")):
        if placed.instant != last and not excluded.has(placed):
            last = placed.instant
            yield Occurrence(placed.instant, placed.instant, placed.shaped)


class Excluded:
    """Which occurrences are left out: by EXDATE in whatever type or zone it was written, or by EXRULE."""

    def __init__(self, series: Series, since: datetime, steps: Steps) -> None:
        start = series.start
        self._zone = start.zone
        self._instants: set[datetime] = set()
        self._locals: set[datetime] = set()
        self._days: set[date] = set()
        for each in series.left_out:
            self._add(each, start)
        self._rules = merge(
            *(rule_instants(rule, start, series.policy, since, steps) for rule in series.excluded_rules),
            key=attrgetter("instant"),
        )
        self._next = next(self._rules, None)

    def _add(self, written: Written, start: Start) -> None:
        if written.whole_day or start.whole_days:
            self._days.add(written.local.date())
        elif written.zone is None or not start.has_instants:
            self._locals.add(written.local)
            self._instants.add(anchor(written.local, self._zone))
        else:
            self._instants.add(anchor(written.local, written.zone))

    def has(self, placed: Placed) -> bool:
        """Whether this occurrence is left out; to be asked in ascending order."""
        while self._next is not None and self._next.instant < placed.instant:
            self._next = next(self._rules, None)
        if self._next is not None and self._next.instant == placed.instant:
            return True
        return self.names(placed)

    def names(self, placed: Placed) -> bool:
        """Whether EXDATE names this occurrence."""
        if placed.instant in self._instants or placed.local in self._locals:
            return True
        return bool(self._days) and self._day(placed) in self._days

    def _day(self, placed: Placed) -> date:
        return (placed.local or wall_clock(placed.instant, self._zone)).date()


class _Changes:
    """Overrides by the occurrence they speak of."""

    def __init__(self, series: Series) -> None:
        self._series = series
        single = [each for each in series.overrides if not each.and_later]
        self._single = {self._instant(each.original): each for each in single}
        # RECURRENCE-ID as a day, where the series has times, means the occurrence of that day.
        self._days = {
            each.original.local.date()
            for each in single
            if each.original.whole_day and not series.start.whole_days
        }
        later = [(self._instant(each.original), each) for each in series.overrides if each.and_later]
        self._later = sorted(later, key=lambda item: item[0])
        self._shifts = [self._shift(each) for _, each in self._later]

    def _instant(self, written: Written) -> datetime:
        start = self._series.start
        if start.whole_days or written.whole_day:
            midnight = written.local.replace(hour=0, minute=0, second=0, microsecond=0)
            return anchor(midnight, start.zone)
        return anchor(written.local, (written.zone if start.has_instants else None) or start.zone)

    def placed(self, written: Written) -> tuple[Placed, ...]:
        zone = written.zone if self._series.start.has_instants else None
        return place(written.local, zone or self._series.start.zone, self._series.policy)

    def _shift(self, override: Override) -> timedelta | None:
        """How far the clock time moves; None when these occurrences are cancelled."""
        if override.start is None:
            return None
        return self._local(override.start) - self._local(override.original)

    def _local(self, written: Written) -> datetime:
        return wall_clock(self._instant(written), self._series.start.zone)

    def since(self, since: datetime) -> datetime:
        """From where the unmoved occurrences are needed to know the moved ones from `since` on."""
        most = max((shift for shift in self._shifts if shift), default=timedelta())
        back = max(most, timedelta()) + _SLACK if self._later else timedelta()
        return since - back if since - BEGINNING > back else BEGINNING

    def fixed(self, excluded: "Excluded") -> Iterator[Occurrence]:
        """The occurrences that an override names by itself, ascending; EXDATE takes its occurrence with it."""
        found = [
            Occurrence(self._instant(each.start), original, None, each.entry)
            for original, each in self._single.items()
            if each.start is not None and not excluded.names(Placed(original, None))
        ]
        return iter(sorted(found))

    def shifted(self, base: Iterable[Occurrence]) -> Iterator[Occurrence]:
        """Ascending: without those that an override names, those of a moved rest moved by its clock time."""
        waiting: list[Occurrence] = []
        for each in base:
            if each.instant in self._single or (self._days and self._day(each) in self._days):
                continue
            if not self._later:
                yield each
                continue
            if self._is_over(each.instant):
                break
            waited = self._moved(each)
            if waited is not None:
                heappush(waiting, waited)
            frontier = self._frontier(each.instant)
            while waiting and waiting[0].instant < frontier:
                yield heappop(waiting)
        while waiting:
            yield heappop(waiting)

    def _day(self, each: Occurrence) -> date:
        return wall_clock(each.instant, self._series.start.zone).date()

    def _moved(self, each: Occurrence) -> Occurrence | None:
        index = self._index(each.instant)
        if index < 0:
            return each
        shift = self._shifts[index]
        if shift is None:
            return None
        if not shift:
            return each._replace(entry=self._later[index][1].entry)
        zone = self._series.start.zone
        instant = anchor(wall_clock(each.instant, zone) + shift, zone)
        return Occurrence(instant, each.original, each.shaped, self._later[index][1].entry)

    def _index(self, instant: datetime) -> int:
        return bisect_right(self._later, instant, key=itemgetter(0)) - 1

    def _is_over(self, instant: datetime) -> bool:
        """Whether this occurrence and all later ones are cancelled."""
        return self._shifts[-1] is None and instant >= self._later[-1][0]

    def _frontier(self, instant: datetime) -> datetime:
        """Nothing that comes later in the series can be moved before this."""
        back = min((shift for shift in self._shifts if shift), default=timedelta())
        back = min(back, timedelta()) - _SLACK
        return instant + back if instant - BEGINNING > -back else BEGINNING
