"""The agenda: what comes due in virtual time, in order of time, then kind, then name."""

import heapq
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

Key = tuple[str, str]
# In this order at the same moment: what was collected leaves before what is new arrives.
Kind = Literal["1-expiry", "2-flush", "3-slot"]


class Due(NamedTuple):
    """One thing that comes due; `what` is the id of a batch."""

    at: datetime
    kind: Kind
    key: Key
    what: UUID | None = None


class Agenda:
    """A heap of due things; who takes one out checks whether it still counts."""

    def __init__(self) -> None:
        self._heap: list[Due] = []

    def add(self, due: Due) -> None:
        """Note one thing that comes due."""
        heapq.heappush(self._heap, due)

    def next(self, until: datetime) -> Due | None:
        """Take out the first that is due until then; None when there is none."""
        if not self._heap or self._heap[0].at > until:
            return None
        return heapq.heappop(self._heap)
