"""When a time source fires: one instant, or one every so often."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from sereno.subscriptions.models.source import TimeSource

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, tzinfo=UTC)


def first_after(source: TimeSource, after: datetime) -> datetime | None:
    """The first instant (UTC) strictly later than `after`, or None when there is none.

    An interval counts in real time from its `start`, which is itself an instant; without one, from 1970-01-01T00:00:00Z.
    ValueError for a kind of rule that is not expanded here.
    """
    if source.at is not None:
        return source.at if source.at > after else None
    if source.every is None:
        raise ValueError("expected a one-shot (at) or an interval (every)")
    start = source.start or EPOCH
    if after < start:
        return start
    return _within(start, source.every, (after - start) // source.every + 1)


def _within(start: datetime, every: timedelta, steps: int) -> datetime | None:
    if every > (LAST - start) / steps:
        return None
    return start + every * steps


def instants(source: TimeSource, after: datetime, before: datetime) -> Iterator[datetime]:
    """The instants later than `after` and earlier than `before`, in order; both ends are exclusive."""
    instant = first_after(source, after)
    while instant is not None and instant < before:
        yield instant
        instant = first_after(source, instant)


def last_before(source: TimeSource, before: datetime) -> datetime | None:
    """The last instant strictly earlier than `before`, or None when there is none: what `misfire: latest` fires."""
    if source.at is not None:
        return source.at if source.at < before else None
    if source.every is None:
        raise ValueError("expected a one-shot (at) or an interval (every)")
    start = source.start or EPOCH
    if before <= start:
        return None
    steps = -(-(before - start) // source.every) - 1
    return start + source.every * steps
