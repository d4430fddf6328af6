"""Sampling: whether the spans of a trace are kept, decided once, where it begins here."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

DEFAULT_PER_SECOND = 100
_DIGITS_COMPARED = 16
_LIMIT = 1 << (4 * _DIGITS_COMPARED)


class Sampling(Protocol):
    """Decides on a trace by its id (32 hexadecimal digits) and its parent's flag, None where it begins here."""

    def takes(self, trace: str, parent: bool | None) -> bool:
        """Whether its spans are kept."""
        ...


@dataclass(slots=True)
class PerSecond:
    """Every trace up to so many a second, so that a small installation sees all and a large one pays little.

    What a sender decided to leave out stays out; what it decided to keep counts like any other.
    """

    most: float
    clock: Callable[[], float] = time.monotonic
    _left: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at = self.most, self.clock()

    def takes(self, trace: str, parent: bool | None) -> bool:
        """See `Sampling.takes`."""
        del trace
        if parent is False:
            return False
        now = self.clock()
        self._left = min(self.most, self._left + (now - self._at) * self.most)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(frozen=True, slots=True)
class Share:
    """A share of all traces by their ids (`traceidratio`), so that every process of a chain takes the same ones."""

    ratio: float
    parent_based: bool = True

    def takes(self, trace: str, parent: bool | None) -> bool:
        """See `Sampling.takes`."""
        if self.parent_based and parent is not None:
            return parent
        return int(trace[-_DIGITS_COMPARED:], 16) < self.ratio * _LIMIT


def configured(environment: Mapping[str, str], per_second: float) -> Sampling:
    """What `OTEL_TRACES_SAMPLER` and its argument say; without them every trace up to `per_second`. Raises ValueError."""
    name = environment.get("OTEL_TRACES_SAMPLER", "").strip().lower()
    if not name:
        return PerSecond(per_second)
    kind = name.removeprefix("parentbased_")
    if kind not in {"always_on", "always_off", "traceidratio"}:
        raise ValueError(
            "OTEL_TRACES_SAMPLER: expected always_on, always_off or traceidratio, each also with parentbased_ before it"
        )
    ratio = {"always_on": 1.0, "always_off": 0.0}.get(kind)
    return Share(_ratio(environment) if ratio is None else ratio, parent_based=kind != name)


def _ratio(environment: Mapping[str, str]) -> float:
    text = environment.get("OTEL_TRACES_SAMPLER_ARG", "1")
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise ValueError("OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1")
    return ratio
