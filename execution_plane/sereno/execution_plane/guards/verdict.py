"""A verdict: what one guard said of one event and one subscription, with the numbers it used."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple, get_args
from uuid import UUID

GuardName = Literal["dedup", "cycle", "rights", "cooldown", "batching", "delivery", "storm"]
GUARD_NAMES: tuple[GuardName, ...] = get_args(GuardName)
# An event whose filters cannot be evaluated never came to a guard; one with a condition is judged behind the third.
DecidedBy = GuardName | Literal["match", "condition"]
Answer = Literal["passed", "objected", "not_configured", "not_reached"]
Outcome = Literal["delivered", "merged", "dropped", "held", "suspended", "awaiting_verdict", "error"]
Number = str | int | float | bool | datetime | UUID | list[str] | None
Numbers = Mapping[str, Number]
"""What a guard counted with; lengths are seconds, money is text with its currency. In JSON a time becomes RFC 3339."""


NO_NUMBERS: Numbers = {}
# Seven are made for each event and subscription; the generated constructor takes twice as long.
_new = tuple.__new__


class Verdict(NamedTuple):
    """What one guard said; `outcome` is what its objection makes of the event."""

    guard: GuardName
    answer: Answer
    reason: str | None = None
    numbers: Numbers = NO_NUMBERS
    outcome: Outcome | None = None


NOT_CONFIGURED: Mapping[GuardName, Verdict] = {name: Verdict(name, "not_configured") for name in GUARD_NAMES}
"""What a guard says where the subscription sets no limit."""
NOT_REACHED: Mapping[GuardName, Verdict] = {name: Verdict(name, "not_reached") for name in GUARD_NAMES}
"""What stands for a guard behind the one that objected."""


def passed(guard: GuardName, numbers: Numbers, reason: str | None = None) -> Verdict:
    """The guard has nothing against it."""
    return _new(Verdict, (guard, "passed", reason, numbers, None))


def objected(guard: GuardName, outcome: Outcome, reason: str, numbers: Numbers) -> Verdict:
    """The guard decides the event."""
    return _new(Verdict, (guard, "objected", reason, numbers, outcome))
