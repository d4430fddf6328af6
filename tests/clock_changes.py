"""What daily, hourly and 15-minute rules must do around a clock change, told by looking at every minute of a clock.

Independent of the expansion: a clock is read minute by minute, which is slow and has no opinion about gaps.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, product
from zoneinfo import ZoneInfo, available_timezones

from sereno.subscriptions.recurrence.declared import declared_series
from sereno.subscriptions.recurrence.local_time import Gap, Overlap, Policy
from sereno.subscriptions.recurrence.series import occurrences

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NEAR = 2 * DAY
FIRST, LAST = datetime(2020, 1, 1, tzinfo=UTC), datetime(2041, 1, 1, tzinfo=UTC)
GAPS: tuple[Gap, ...] = ("shift", "skip")
OVERLAPS: tuple[Overlap, ...] = ("first", "second", "both")
POLICIES = tuple(Policy(gap, overlap) for gap, overlap in product(GAPS, OVERLAPS))


def zone_names() -> list[str]:
    """Every zone of the IANA database."""
    return sorted(name for name in available_timezones() if name not in ("localtime", "Factory"))


@cache
def changes(name: str) -> tuple[datetime, ...]:
    """The instants from 2020 to 2040 at which the clock of a zone changes."""
    zone = ZoneInfo(name)
    found, moment = [], FIRST
    while moment < LAST:
        # No zone changes twice within a day.
        later = moment + DAY
        if moment.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            found.append(_change_between(zone, moment, later))
        moment = later
    return tuple(found)


def _change_between(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    before = low.astimezone(zone).utcoffset()
    while high - low > MINUTE:
        middle = low + (high - low) // 2
        middle = middle.replace(second=0, microsecond=0)
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high


class Clock:
    """What the clock of a zone shows at every minute around a change."""

    def __init__(self, name: str, change: datetime) -> None:
        self.name, self.zone, self.change = name, ZoneInfo(name), change
        self.begin, self.end = change - NEAR, change + NEAR
        self.shown: dict[datetime, list[datetime]] = defaultdict(list)
        minute, far = self.begin - DAY, self.end + 2 * DAY
        while minute < far:
            self.shown[self.at(minute)].append(minute)
            minute += MINUTE
        self.skipped_from, self.skipped_to = self.at(change - MINUTE) + MINUTE, self.at(change)

    def at(self, instant: datetime) -> datetime:
        return instant.astimezone(self.zone).replace(tzinfo=None, fold=0)

    def instants(self, local: datetime, policy: Policy) -> list[datetime]:
        """Where a local time lies, by looking for it."""
        seen = self.shown.get(local, [])
        if not seen:
            assert self.skipped_from <= local < self.skipped_to, (self.name, local)
            return [] if policy.gap == "skip" else [self.change + (local - self.skipped_from)]
        if len(seen) == 1:
            return seen
        return {"first": seen[:1], "second": seen[1:], "both": seen}[policy.overlap]

    def times_of_day(self) -> Iterator[datetime]:
        """Local times on the first day of the window whose later days meet the change in every way."""
        start = self.at(self.begin).date()
        edges = {self.skipped_from, self.skipped_to}
        for edge, minutes in product(sorted(edges), (-30, -1, 0, 1, 15, 30, 59)):
            time = (edge + minutes * MINUTE).time()
            yield datetime.combine(start, time)


def faults(name: str, change: datetime) -> Iterator[str]:
    """What is lost, doubled or out of order around a change under any policy; nothing, if all is well."""
    clock = Clock(name, change)
    for policy in POLICIES:
        yield from _faults(clock, policy)


def _faults(clock: Clock, policy: Policy) -> Iterator[str]:
    for start in clock.times_of_day():
        rule = f"FREQ=DAILY;UNTIL={clock.at(clock.end) + DAY:%Y%m%dT%H%M%S}"
        days = [start + n * DAY for n in range(5)]
        expected = sorted({instant for day in days for instant in clock.instants(day, policy)})
        yield from _compare(clock, start, rule, policy, [e for e in expected if e < clock.end])
    midnight = datetime.combine(clock.at(clock.begin).date(), datetime.min.time()) + DAY
    quarters = [midnight + n * 15 * MINUTE for n in range(4 * 24 * 3)]
    expected = sorted({instant for local in quarters for instant in clock.instants(local, policy)})
    hours = ",".join(map(str, range(24)))
    rule = f"FREQ=DAILY;BYHOUR={hours};BYMINUTE=0,15,30,45;COUNT=100000"
    reach = min(clock.instants(quarters[-1], Policy())[0], clock.end)
    yield from _compare(clock, midnight, rule, policy, [e for e in expected if e < reach], end=reach)
    for rule, step in (("FREQ=HOURLY", HOUR), ("FREQ=MINUTELY;INTERVAL=15", 15 * MINUTE)):
        start = clock.at(clock.begin)
        if len(clock.shown[start]) == 1:
            expected = [clock.begin + n * step for n in range(int(2 * NEAR / step))]
            yield from _compare(clock, start, rule, policy, expected)


def _compare(
    clock: Clock,
    start: datetime,
    rule: str,
    policy: Policy,
    expected: list[datetime],
    *,
    end: datetime | None = None,
) -> Iterator[str]:
    series = declared_series(start.isoformat(), clock.zone, rules=[rule], policy=policy)
    found = []
    for each in occurrences(series):
        if each.instant >= (end or clock.end):
            break
        found.append(each.instant)
    if found != expected:
        odd = sorted(set(found) ^ set(expected))[:3]
        yield f"{clock.name} {clock.change} {rule[:30]} from {start} {policy}: {[str(each) for each in odd]}"
    if any(later <= earlier for earlier, later in pairwise(found)):
        yield f"{clock.name} {clock.change} {rule[:30]} from {start} {policy}: not in order"
