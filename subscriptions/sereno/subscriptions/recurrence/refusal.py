"""Why a schedule cannot be read, or cannot be answered exactly."""

from typing import Literal

Code = Literal[
    "bad_input", "bad_rule", "bad_calendar", "unknown_zone", "never_fires", "unsupported_rule", "too_large"
]


class Refused(ValueError):  # noqa: N818 - a refusal is the answer, not an error of ours
    """A schedule that is not expanded: `code` is stable, the message names the part and what was expected."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code


def refuse_rule(part: str, value: str, expected: str) -> Refused:
    """The refusal of one part of a recurrence rule."""
    return Refused("bad_rule", f"{part}={shortened(value)}: expected {expected}")


def shortened(text: str, limit: int = 60) -> str:
    """`text` fit to stand in a message."""
    return text if len(text) <= limit else f"{text[:limit]}…"
