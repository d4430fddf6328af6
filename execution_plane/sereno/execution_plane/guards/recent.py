"""What came lately: how many arrivals in the window that ends now, wherever that window begins."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

MOST_MOMENTS = 512
"""So many moments are kept apart; from then on those that are close together are counted as one."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_new = tuple.__new__


class Recent(NamedTuple):
    """The arrivals of the last window: moments (microseconds since 1970), each followed by how many came then.

    Exact while the window holds few moments; beyond, those within `grain` count as the latest of them: some are
    remembered longer than the window, none shorter. `window` and `grain` are microseconds.
    """

    window: int
    grain: int
    moments: tuple[int, ...]

    @property
    def total(self) -> int:
        """How many came within the window."""
        return sum(self.moments[1::2])


def counted(recent: Recent | None, at: datetime, window: timedelta) -> Recent:
    """The same after one more arrival at this moment; a window of another length begins anew."""
    length, moment = window // _MICROSECOND, (at - _EPOCH) // _MICROSECOND
    if recent is None or recent.window != length:
        return _new(Recent, (length, 1, (moment, 1)))
    kept = _within(recent.moments, moment - length)
    grain = recent.grain if len(kept) > MOST_MOMENTS else 1
    # The clock of a subscription does not go back, but two subscriptions may share a count.
    if kept and moment // grain <= kept[-2] // grain:
        return _new(Recent, (length, grain, (*kept[:-2], max(moment, kept[-2]), kept[-1] + 1)))
    moments = (*kept, moment, 1)
    if len(moments) <= 2 * MOST_MOMENTS:
        return _new(Recent, (length, grain, moments))
    grain = max(1, 2 * length // MOST_MOMENTS)
    return _new(Recent, (length, grain, _merged(moments, grain)))


def _within(moments: tuple[int, ...], since: int) -> tuple[int, ...]:
    """Those after `since`."""
    first = 0
    while first < len(moments) and moments[first] <= since:
        first += 2
    return moments[first:]


def _merged(moments: tuple[int, ...], grain: int) -> tuple[int, ...]:
    merged: list[int] = []
    for moment, count in zip(moments[::2], moments[1::2], strict=True):
        if merged and merged[-2] // grain == moment // grain:
            merged[-2:] = [moment, merged[-1] + count]
        else:
            merged += [moment, count]
    return tuple(merged)
