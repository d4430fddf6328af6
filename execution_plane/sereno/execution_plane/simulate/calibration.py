"""Calibration: limits for one subscription proposed from the percentiles of its own events (pure).

The proposal is a beginning for a person to judge. It never drops an event: what comes too soon waits in a batch.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from sereno.subscriptions.duration import format_duration

LEAST = 50
"""Fewer events say nothing of a percentile."""
_SHARES = (50, 75, 90, 99)
_SHORTEST, _LONGEST = timedelta(seconds=1), timedelta(days=1)
_CALMEST, _SMALLEST_BATCH, _LARGEST_BATCH = 10, 2, 1000
Number = TypeVar("Number", int, float)


class TooFewError(Exception):
    """There are not enough events; the sentence says how many there are."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How many events, their percentiles, and the limits that follow from them."""

    events: int
    first: datetime
    last: datetime
    percentiles: dict[str, dict[str, float]]
    limits: dict[str, Any]


def calibrate(arrivals: Sequence[datetime], zone: ZoneInfo) -> Calibration:
    """The limits that these arrivals suggest; days are those of `zone`. Raises TooFewError below `LEAST` of them."""
    if len(arrivals) < LEAST:
        raise TooFewError(f"expected at least {LEAST} events; found {len(arrivals)}")
    moments = sorted(arrivals)
    gaps = [(later - sooner).total_seconds() for sooner, later in pairwise(moments)]
    minutes = _counts(moment.replace(second=0, microsecond=0) for moment in moments)
    days = _counts(moment.astimezone(zone).date() for moment in moments)
    return Calibration(
        len(moments),
        moments[0],
        moments[-1],
        {"gap_seconds": _told(gaps), "per_minute": _told(minutes), "per_day": _told(days)},
        _limits(moments, gaps, minutes, zone),
    )


def percentile(values: Iterable[Number], share: int) -> Number:
    """The least value that so many of a hundred do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share / 100) - 1)]


def _counts(keys: Iterable[object]) -> list[int]:
    return list(Counter(keys).values())


def _told(values: Sequence[float]) -> dict[str, float]:
    return {f"p{share}": percentile(values, share) for share in _SHARES}


def _limits(
    moments: Sequence[datetime], gaps: Sequence[float], minutes: Sequence[int], zone: ZoneInfo
) -> dict[str, Any]:
    """A rest as long as most gaps; within it a batch; a storm at twice the busiest minutes; room for the busiest days."""
    rest = _whole(timedelta(seconds=percentile(gaps, 75)))
    close = [gap for gap in gaps if gap <= rest.total_seconds()]
    window = min(rest, _whole(timedelta(seconds=percentile(close, 90))))
    wakes = _wakes(moments, rest)
    most = max(_SMALLEST_BATCH, min(_LARGEST_BATCH, 2 * ceil(len(moments) / len(wakes))))
    a_day = percentile(_counts(wake.astimezone(zone).date() for wake in wakes), 90)
    return {
        "cooldown": {"every": format_duration(rest), "then": "batch"},
        "batch": {"window": format_duration(window), "max_wait": format_duration(rest), "max_items": most},
        "storm": {"threshold": f"{max(_CALMEST, 2 * percentile(minutes, 99))}/min"},
        "budget": {"activations": f"{ceil(1.5 * a_day) + 1}/day"},
    }


def _whole(length: timedelta) -> timedelta:
    """In whole seconds, upwards."""
    return min(_LONGEST, max(_SHORTEST, timedelta(seconds=ceil(length.total_seconds()))))


def _wakes(moments: Sequence[datetime], rest: timedelta) -> list[datetime]:
    """When it would wake with that rest between."""
    wakes = [moments[0]]
    for moment in moments:
        if moment - wakes[-1] >= rest:
            wakes.append(moment)
    return wakes
