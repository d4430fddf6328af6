"""The result of a check by `sereno doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what it found, and what to do when that is not fine."""

    check: str
    fine: bool
    found: str
    advice: str = ""
