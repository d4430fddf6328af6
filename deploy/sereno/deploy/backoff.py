"""How long to wait before a crashed process is started again."""

from dataclasses import dataclass

FIRST_SECONDS = 0.25
LONGEST_SECONDS = 15.0
HEALTHY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Restarts:
    """The crashes of one process in a row, and when it was last started; times are monotonic seconds."""

    started_at: float
    crashes: int = 0

    def after_crash(self, now: float) -> "Restarts":
        """One more crash; the first again when the process had run well for a while."""
        healthy = now - self.started_at >= HEALTHY_SECONDS
        return Restarts(self.started_at, 1 if healthy else self.crashes + 1)

    def pause(self) -> float:
        """Seconds until the next start."""
        return min(FIRST_SECONDS * 2.0 ** max(0, self.crashes - 1), LONGEST_SECONDS)

    def started(self, now: float) -> "Restarts":
        """The process was started again."""
        return Restarts(now, self.crashes)
