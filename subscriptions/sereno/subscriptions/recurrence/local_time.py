"""From a local time to instants: what becomes of one that a clock change leaves out, or shows twice."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from heapq import heappop, heappush
from typing import Literal, NamedTuple

Gap = Literal["shift", "skip"]
Overlap = Literal["first", "second", "both"]
Shaped = Literal["gap", "overlap"]


@dataclass(frozen=True, slots=True)
class Policy:
    """`gap`: a local time that does not exist moves by the length of the gap, or is left out.

    `overlap`: one that exists twice is taken the first time, the second, or both.
    """

    gap: Gap = "shift"
    overlap: Overlap = "first"


DEFAULT = Policy()


class Placed(NamedTuple):
    """An instant (UTC), the local time that named it (None for elapsed time) and the policy that shaped it."""

    instant: datetime
    local: datetime | None
    shaped: Shaped | None = None


def place(local: datetime, zone: tzinfo, policy: Policy) -> tuple[Placed, ...]:
    """The instants of a naive local time, ascending: none, one or two; none outside the years 1 to 9999."""
    earlier = local.replace(tzinfo=zone)
    before = earlier.utcoffset() or _NOTHING
    after = earlier.replace(fold=1).utcoffset() or _NOTHING
    try:
        instant = (local - before).replace(tzinfo=UTC)
        if before == after:
            return (Placed(instant, local),)
        if before < after:
            # In a gap the offset from before the change is kept, so the time moves by the length of the gap.
            return () if policy.gap == "skip" else (Placed(instant, local, "gap"),)
        second = (local - after).replace(tzinfo=UTC)
    except OverflowError:
        return ()
    first = (Placed(instant, local, "overlap"),)
    last = (Placed(second, local, "overlap"),)
    return {"first": first, "second": last, "both": first + last}[policy.overlap]


_NOTHING = timedelta()


def exists(local: datetime, zone: tzinfo) -> bool:
    """Whether the clock of the zone ever shows this time."""
    earlier = local.replace(tzinfo=zone)
    return (earlier.utcoffset() or _NOTHING) >= (earlier.replace(fold=1).utcoffset() or _NOTHING)


def anchor(local: datetime, zone: tzinfo, policy: Policy = DEFAULT) -> datetime:
    """The one instant that a written local time means, also where the policy leaves it out or doubles it.

    OverflowError outside the years 1 to 9999.
    """
    fold = 1 if policy.overlap == "second" and exists(local, zone) else 0
    offset = local.replace(tzinfo=zone, fold=fold).utcoffset() or _NOTHING
    return (local - offset).replace(tzinfo=UTC)


def wall_clock(instant: datetime, zone: tzinfo) -> datetime:
    """What the clock of the zone shows at an instant (naive), held within the years 1 to 9999."""
    try:
        return instant.astimezone(zone).replace(tzinfo=None, fold=0)
    except OverflowError:
        return datetime.max if instant.year > 5000 else datetime.min  # noqa: PLR2004 - which end of time


def in_order(placed: Iterable[tuple[Placed, ...]]) -> Iterator[Placed]:
    """The instants of ascending local times, ascending.

    Only times in a gap or an overlap can come out of order; they wait for the next time that the clock shows
    exactly once, since nothing named later can lie before that.
    """
    waiting: list[Placed] = []
    for found in placed:
        if len(found) == 1 and found[0].shaped is None:
            while waiting and waiting[0].instant <= found[0].instant:
                yield heappop(waiting)
            yield found[0]
        else:
            for each in found:
                heappush(waiting, each)
    while waiting:
        yield heappop(waiting)
