"""What is wrong with declared text, and where."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_FAULTS = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a declared text: the path to it, a sentence, and its line (1-based)."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


@dataclass(frozen=True, slots=True)
class Faults:
    """Everything wrong with a declared text, in the order of its lines."""

    items: tuple[Fault, ...]

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> "Faults":
        """The faults, each once, by line; what exceeds the report's size is counted, not listed."""
        unique = sorted(dict.fromkeys(faults), key=lambda fault: (fault.line or 0, fault.path))
        if len(unique) <= MAX_FAULTS:
            return cls(tuple(unique))
        rest = Fault("", f"and {len(unique) - MAX_FAULTS} more faults", unique[MAX_FAULTS].line)
        return cls((*unique[:MAX_FAULTS], rest))

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


# The longest name of a field that a report repeats.
MAX_STEP = 80
# Pydantic's step from a mapping to one of its keys.
_KEY = "[key]"
_STEP = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")


def steps_of(path: str) -> tuple[str | int, ...]:
    """The steps of a written path: the reverse of `join_path` for names without dots and brackets."""
    return tuple(int(number) if number else name for number, name in _STEP.findall(path))


def join_path(base: str, steps: Iterable[str | int]) -> str:
    """The path of a field as people read it: `documents[0].spec.filters[1].cel`."""
    path = base
    for step in steps:
        if step == _KEY:
            continue
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step[:MAX_STEP]}" if path else step[:MAX_STEP]
    return path
