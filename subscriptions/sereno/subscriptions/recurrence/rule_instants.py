"""The instants of one rule from its start: expansion, COUNT, UNTIL and the policy for clock changes together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import islice, takewhile

from sereno.subscriptions.recurrence.elapsed_time import ElapsedTime
from sereno.subscriptions.recurrence.local_time import Placed, Policy, anchor, in_order, place, wall_clock
from sereno.subscriptions.recurrence.moment import digits, is_day
from sereno.subscriptions.recurrence.reach import can_fire
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule import Frequency, Rule
from sereno.subscriptions.recurrence.steps import Steps
from sereno.subscriptions.recurrence.wall_clock import local_times

_MARGIN = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a series begins: a local time in a zone; a floating time or a whole day is kept as one in UTC."""

    local: datetime
    zone: tzinfo
    whole_days: bool = False
    floating: bool = False

    @property
    def has_instants(self) -> bool:
        """Whether the series has real instants rather than floating times or days."""
        return not (self.whole_days or self.floating)


def rule_instants(
    rule: Rule, start: Start, policy: Policy, since: datetime, steps: Steps
) -> Iterator[Placed]:
    """Ascending, from about `since` (never later) on. Refused when the rule needs times that the start has not."""
    if rule.is_elapsed:
        return _elapsed(rule, start, policy, since, steps)
    return _on_the_wall_clock(rule, start, policy, since, steps)


def _on_the_wall_clock(
    rule: Rule, start: Start, policy: Policy, since: datetime, steps: Steps
) -> Iterator[Placed]:
    begin, count = _begin(rule, start, policy, since), rule.count
    if count is not None:
        count -= _passed(rule, start.local, begin)
    until = _until(rule, start)
    found = local_times(rule, start.local, begin, steps, whole_days=start.whole_days)
    bounded = takewhile(until.may_still_hold, found if count is None else _from(found, begin))
    placed = (each for local in bounded if (each := place(local, start.zone, policy)))
    counted = placed if count is None else islice(placed, max(0, count))
    return (each for each in in_order(counted) if until.holds(each))


def _begin(rule: Rule, start: Start, policy: Policy, since: datetime) -> datetime:
    """From which local time on the rule must be expanded to know it from `since` on."""
    can_skip = rule.count is None or (_is_plain(rule) and policy.gap == "shift")
    if not can_skip or since.year == 1:
        return start.local
    begin = max(start.local, _earlier(wall_clock(since, start.zone)))
    if rule.count is None:
        return begin
    return start.local + (begin - start.local) // _period(rule) * _period(rule)


def _is_plain(rule: Rule) -> bool:
    """Whether the rule names every so many days at one time, so that its occurrences can be counted by arithmetic."""
    parts = (rule.by_second, rule.by_minute, rule.by_hour, rule.by_day, rule.by_month_day, rule.by_month)
    return rule.frequency in (Frequency.DAILY, Frequency.WEEKLY) and not any(parts)


def _period(rule: Rule) -> timedelta:
    return timedelta(days=rule.interval * (7 if rule.frequency is Frequency.WEEKLY else 1))


def _passed(rule: Rule, start: datetime, begin: datetime) -> int:
    return (begin - start) // _period(rule) if begin > start else 0


def _from(locals_: Iterator[datetime], begin: datetime) -> Iterator[datetime]:
    return (local for local in locals_ if local >= begin)


def _earlier(local: datetime) -> datetime:
    return local - _MARGIN if local - datetime.min > _MARGIN else local


def _elapsed(rule: Rule, start: Start, policy: Policy, since: datetime, steps: Steps) -> Iterator[Placed]:
    if start.whole_days:
        raise Refused(
            "bad_rule", f"FREQ={rule.frequency.name} with a whole day: expected a start with a time of day"
        )
    origin = anchor(start.local, start.zone, policy)
    if not can_fire(rule, origin, start.zone):
        return
    cells, left = ElapsedTime(rule, origin, start.zone, steps), rule.count
    if left is not None:
        passed = cells.occurrences_before(since) if cells.is_plain else 0
        since, left = since if cells.is_plain else origin, left - passed
    until = _until(rule, start)
    instants = cells.instants(since) if left is None else islice(cells.instants(since), max(0, left))
    for instant in instants:
        each = Placed(instant, None)
        if not until.holds(each):
            return
        yield each


@dataclass(frozen=True, slots=True)
class _Until:
    """The last local time or the last instant of a rule, both included."""

    local: datetime | None
    instant: datetime | None
    zone: tzinfo

    def may_still_hold(self, local: datetime) -> bool:
        """Whether this or a later local time may lie before the end."""
        if self.local is not None:
            return local <= self.local
        return self.instant is None or local <= wall_clock(self.instant, self.zone) + _MARGIN

    def holds(self, placed: Placed) -> bool:
        if self.instant is not None:
            return placed.instant <= self.instant
        if self.local is None or placed.local is not None:
            return True
        return placed.instant <= anchor(self.local, self.zone)


def _until(rule: Rule, start: Start) -> _Until:
    until = rule.until
    if until is None:
        return _Until(None, None, start.zone)
    if is_day(until) or start.whole_days:
        return _Until(datetime.combine(digits(until), time.max), None, start.zone)
    if isinstance(until, datetime) and until.tzinfo is not None and start.has_instants:
        return _Until(None, until.astimezone(UTC), start.zone)
    # A floating series has no zone in which an instant could be read: its digits are compared.
    return _Until(digits(until), None, start.zone)
