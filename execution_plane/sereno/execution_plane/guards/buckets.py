"""Two half-window buckets: how many in the last window, in constant space and without a list of moments."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_new = tuple.__new__


class Buckets(NamedTuple):
    """Counts of the half window that runs and of the one before it; `half` is its length in seconds.

    A window is these two halves, so it spans between half and all of its length. `slot` numbers the half since 1970.
    """

    half: int
    slot: int
    current: int
    previous: int

    @property
    def total(self) -> int:
        """How many in the window."""
        return self.current + self.previous


@lru_cache(maxsize=256)
def _half(window: timedelta) -> int:
    return max(1, int(window / _SECOND) // 2)


def counted(buckets: Buckets | None, at: datetime, window: timedelta) -> Buckets:
    """The buckets after one more at this moment; those of another window length begin anew."""
    half = _half(window)
    slot = (at - _EPOCH) // _SECOND // half
    if buckets is None or buckets.half != half or slot > buckets.slot + 1:
        return _new(Buckets, (half, slot, 1, 0))
    if slot == buckets.slot + 1:
        return _new(Buckets, (half, slot, 1, buckets.current))
    # The clock of a subscription does not go back, but two subscriptions may share a count.
    return _new(Buckets, (half, buckets.slot, buckets.current + 1, buckets.previous))
