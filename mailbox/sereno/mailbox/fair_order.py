"""How far claims have come in the fair order of each mailbox, as one process knows it (mechanics 18).

A claim looks from there on, less what may still be committing, so it does not walk over dead rows that a
long transaction keeps alive. Now and then it looks from the beginning, for what came back.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

LATE_COMMIT_SECONDS = 0.1
SWEEP_SHARE = 0.05
CHEAP_SWEEP_SECONDS = 0.1
_KEPT = 64


@dataclass(slots=True)
class Cursor:
    """The place of one mailbox: tags claimed lately with their times, and when the next sweep is due."""

    now: Callable[[], float] = time.monotonic
    bound: int | None = None
    recent: deque[tuple[float, int]] = field(default_factory=deque)
    sweep_at: float = 0.0
    sweep_seconds: float = 0.0

    def lower_bound(self) -> int | None:
        """The tag from which to look; None for a sweep from the beginning."""
        now = self.now()
        while self.recent and self.recent[0][0] <= now - LATE_COMMIT_SECONDS:
            self.bound = max(self.bound or 0, self.recent.popleft()[1])
        return None if now >= self.sweep_at else self.bound

    def swept(self, seconds: float) -> None:
        """A sweep took so long; the next waits until sweeps are a small share of the time."""
        self.sweep_at = self.now() + seconds / SWEEP_SHARE
        self.sweep_seconds = seconds

    def found_nothing(self) -> bool:
        """Whether to look from the beginning at once: who has nothing else to do may, while that is cheap."""
        if self.sweep_seconds > CHEAP_SWEEP_SECONDS:
            return False
        self.returned()
        return True

    def claimed(self, tag: int) -> None:
        """The highest tag of a claim that is committed."""
        if len(self.recent) < _KEPT or self.now() - self.recent[-1][0] > LATE_COMMIT_SECONDS / _KEPT:
            self.recent.append((self.now(), tag))

    def returned(self) -> None:
        """Something came back into the mailbox: look from the beginning at once."""
        self.sweep_at = 0.0


class FairOrder:
    """The cursors of all mailboxes that this process claims from."""

    def __init__(self) -> None:
        self._cursors: dict[tuple[str, str], Cursor] = {}

    def of(self, tenant: str, agent: str) -> Cursor:
        """The cursor of a mailbox."""
        return self._cursors.setdefault((tenant, agent), Cursor())
