"""What must be reached, and whether it was."""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """A figure that must be at least (or at most) so much, and how much it aims at."""

    label: str
    must: float
    aim: float
    at_most: bool = False
    digits: int = 2

    def show(self, values: Sequence[float]) -> bool:
        """Print the median of these values with their spread; whether it is reached. No value is a miss."""
        if not values:
            sys.stdout.write(f"{self.label:58}       -   not measured\n")
            return False
        figure = statistics.median(values)
        reached = figure <= self.must if self.at_most else figure >= self.must
        sys.stdout.write(
            f"{self.label:58}{figure:8.{self.digits}f}   must be at {'most' if self.at_most else 'least'}"
            f" {self.must:g}, aim {self.aim:g}   {spread(values, self.digits)}{'' if reached else '   MISSED'}\n"
        )
        return reached


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The least and the most."""
    return f"{min(values):.{digits}f}..{max(values):.{digits}f}"


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Round by round, so that what else the machine did falls on both."""
    return [mine / other for mine, other in zip(ours, theirs, strict=False)]
