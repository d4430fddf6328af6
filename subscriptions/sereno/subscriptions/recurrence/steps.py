"""Bounds what an expansion may cost: the core has no clock, so it counts its steps (each some ten microseconds)."""

from sereno.subscriptions.recurrence.refusal import Refused

MAX_STEPS = 400_000
_PER_OCCURRENCE = 1_000


class Steps:
    """How many more steps an expansion may take."""

    __slots__ = ("_left", "_most")

    def __init__(self, most: int = MAX_STEPS) -> None:
        self._most = most
        self._left = most

    def take(self, count: int = 1) -> None:
        """Count some steps; Refused("too_large") after the last."""
        self._left -= count
        if self._left < 0:
            raise Refused(
                "too_large",
                f"no answer within {self._most} steps: expected a rule that fires more often or starts later",
            )

    def give(self) -> None:
        """An occurrence was found, which pays for some of the next steps."""
        self._left = min(self._most, self._left + _PER_OCCURRENCE)
