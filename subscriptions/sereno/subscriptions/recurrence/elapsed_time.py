"""Expands a rule by hours, minutes or seconds in elapsed time; its BY parts look at the clock of the zone."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo

from sereno.subscriptions.recurrence.local_time import anchor, wall_clock
from sereno.subscriptions.recurrence.periods import KindsOfYear
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule import Frequency, Rule
from sereno.subscriptions.recurrence.steps import Steps
from sereno.subscriptions.recurrence.year_days import allowed_days

UNITS = {Frequency.HOURLY: 3600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}
MAX_FRUITLESS = 20_000
_STEPS_OF_A_CELL = 3
_SECOND = timedelta(seconds=1)
_NEAR = 3 * 3600
_END = datetime(9999, 12, 30, tzinfo=UTC)
_LAST_YEAR = 9998


class ElapsedTime:
    """The cells of a rule (real hours, minutes or seconds from its start) and which moments of a cell it names."""

    def __init__(self, rule: Rule, start: datetime, zone: tzinfo, steps: Steps) -> None:
        """`start` is an instant; within its first cell only what is not before it counts."""
        self._rule, self._zone, self._steps = rule, zone, steps
        self._unit = UNITS[rule.frequency]
        self._step = self._unit * rule.interval
        self.start = start
        self._start_local = wall_clock(start, zone)
        self._origin = start - _SECOND * self._into_the_cell(self._start_local)
        limits = (rule.by_month, rule.by_month_day, rule.by_year_day, rule.by_day)
        self._days = KindsOfYear(lambda year: allowed_days(rule, year)) if any(limits) else None
        self._allowed: dict[int, frozenset[int]] = {}

    @property
    def is_plain(self) -> bool:
        """Whether every cell is exactly one occurrence, so that the occurrences can be counted by arithmetic."""
        rule = self._rule
        parts = (rule.by_second, rule.by_minute, rule.by_hour, rule.by_position)
        return self._days is None and not any(parts)

    def occurrences_before(self, instant: datetime) -> int:
        """How many cells of a plain rule start before an instant."""
        return max(0, -(-(instant - self._origin) // (_SECOND * self._step)))

    def instants(self, since: datetime) -> Iterator[datetime]:
        """Ascending instants not before the start, from about `since` (never later); ends with the year 9999."""
        index = self.occurrences_before(since) if self.is_plain else self.occurrences_before(since) - 1
        index, fruitless = max(0, index), 0
        while (ahead := index * self._step) < (_END - self._origin).total_seconds():
            cell = self._origin + timedelta(seconds=ahead)
            self._steps.take(_STEPS_OF_A_CELL)
            found = self._within(cell)
            yield from (moment for moment in found if moment >= self.start)
            fruitless = 0 if found else fruitless + 1
            if fruitless > MAX_FRUITLESS:
                raise Refused(
                    "unsupported_rule", f"the rule names nothing in {MAX_FRUITLESS} steps: it may never fire"
                )
            index = index + 1 if found else max(index + 1, self._next_index(cell))

    def _into_the_cell(self, local: datetime) -> int:
        """How many seconds before the start its cell begins; a cell of one moment begins with it."""
        if self._rule.frequency is Frequency.HOURLY and (self._rule.by_minute or self._rule.by_second):
            return local.minute * 60 + local.second
        return local.second if self._rule.frequency is Frequency.MINUTELY and self._rule.by_second else 0

    def _within(self, cell: datetime) -> list[datetime]:
        rule = self._rule
        found = [moment for moment in self._candidates(cell) if self._fits(wall_clock(moment, self._zone))]
        if not rule.by_position:
            return found
        chosen = {p - 1 if p > 0 else len(found) + p for p in rule.by_position if abs(p) <= len(found)}
        return [found[index] for index in sorted(chosen)]

    def _candidates(self, cell: datetime) -> Iterator[datetime]:
        rule, local = self._rule, wall_clock(cell, self._zone)
        expands_minutes = rule.frequency is Frequency.HOURLY and (rule.by_minute or rule.by_second)
        expands_seconds = rule.frequency > Frequency.SECONDLY and rule.by_second
        if not expands_minutes and not expands_seconds:
            yield cell
            return
        end = wall_clock(cell + _SECOND * (self._unit - 1), self._zone)
        if not self._may_fit(local) and not self._may_fit(end):
            return
        start = self._start_local
        minutes = (rule.by_minute or (start.minute,)) if expands_minutes else (local.minute,)
        seconds = rule.by_second or (start.second,)
        # The clock of a cell need not begin at :00 (Lord Howe changes by half an hour).
        ahead = sorted((minute - local.minute) % 60 * 60 for minute in minutes)
        within = sorted((second - local.second) % 60 for second in seconds)
        for minute in ahead:
            for second in within:
                yield cell + timedelta(seconds=minute + second)

    def _fits(self, local: datetime) -> bool:
        rule = self._rule
        return (
            (not rule.by_second or local.second in rule.by_second)
            and (not rule.by_minute or local.minute in rule.by_minute)
            and (not rule.by_hour or local.hour in rule.by_hour)
            and self._day_fits(local)
        )

    def _may_fit(self, local: datetime) -> bool:
        return not self._hour_is_wrong(local) and self._day_fits(local)

    def _day_fits(self, local: datetime) -> bool:
        return self._days is None or local.toordinal() in self._allowed_in(local.year)

    def _allowed_in(self, year: int) -> frozenset[int]:
        if self._days is None:
            return frozenset()
        if year not in self._allowed:
            self._allowed = {year: frozenset(self._days(year))}
        return self._allowed[year]

    def _next_index(self, cell: datetime) -> int:
        """The first cell that may fit after one that does not, found by the clock; 0 when it must be searched."""
        local = wall_clock(cell, self._zone)
        if not self._day_fits(local):
            return self._index_of(self._next_day(cell, local))
        ahead = _until_the_next_hour(local) if self._hour_is_wrong(local) else 0
        if not ahead and self._minute_is_wrong(local):
            ahead = 60 - local.second
        target = cell + timedelta(seconds=ahead)
        return self._index_of(target) if self._same_offset(cell, target) else 0

    def _hour_is_wrong(self, local: datetime) -> bool:
        return bool(self._rule.by_hour) and local.hour not in self._rule.by_hour

    def _minute_is_wrong(self, local: datetime) -> bool:
        return bool(self._rule.by_minute) and local.minute not in self._rule.by_minute

    def _index_of(self, instant: datetime) -> int:
        return -(-(instant - self._origin) // (_SECOND * self._step))

    def _same_offset(self, one: datetime, other: datetime) -> bool:
        return one.astimezone(self._zone).utcoffset() == other.astimezone(self._zone).utcoffset()

    def _next_day(self, cell: datetime, local: datetime) -> datetime:
        """The start of the next day that fits, less one cell; the cell itself where the clock is about to go back."""
        if not self._same_offset(cell, cell + timedelta(seconds=_NEAR)):
            return cell
        day, year = local.toordinal(), local.year
        for each in range(year, min(year + 9, _LAST_YEAR + 1)):
            later = [d for d in sorted(self._allowed_in(each)) if d > day]
            if later:
                midnight = datetime.combine(date.fromordinal(later[0]), datetime.min.time())
                return anchor(midnight, self._zone) - timedelta(seconds=self._unit)
        return anchor(datetime(min(year + 8, _LAST_YEAR), 12, 31), self._zone)


def _until_the_next_hour(local: datetime) -> int:
    return 3600 - local.minute * 60 - local.second
