"""A suspension: why a subscription, or one object of it, stands still until an authorised person lifts it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Literal, NamedTuple
from uuid import UUID

from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.guards.verdict import GuardName, Numbers

Cause = Literal["budget", "storm", "errors", "no_change", "expression_cost"]

# By whom what arrives meanwhile is held; the reason is the cause.
HELD_BY: Mapping[Cause, GuardName] = {"budget": "rights", "storm": "storm"}


def guard_of(cause: str) -> GuardName:
    """The guard that says so of an event which this cause holds."""
    return next((guard for held_for, guard in HELD_BY.items() if held_for == cause), "delivery")


class Suspension(NamedTuple):
    """One row (`sus_…`): its cause, the receipt that tripped it and the numbers of that moment.

    With a `subject` only events about that object are held. Only a person lifts it; a later version never does.
    """

    id: UUID
    tenant: str
    subscription: str
    cause: Cause
    at: datetime
    receiptid: str
    numbers: Numbers
    subject: str | None = None

    def concerns(self, subject: str | None) -> bool:
        """Whether it holds an event about this object."""
        return self.subject is None or self.subject == subject


def suspension_id(at: datetime, *parts: str) -> UUID:
    """The same UUIDv7 for the same parts, however often it is decided."""
    digest = sha256("\0".join(("suspension", *parts)).encode()).digest()
    return uuid7(max(0, int(at.timestamp() * 1000)), digest[:RANDOM_BYTES])


def sentence(suspension: Suspension) -> str:
    """What its owner is told, once."""
    return f"{suspension.subscription} is suspended: {_WHY[suspension.cause](suspension)}"


def _budget(suspension: Suspension) -> str:
    numbers = suspension.numbers
    return (
        f"{numbers['used']} of {numbers['limit']} are used ({numbers['measure']} of the {numbers['scope']}"
        f" {numbers['of']}); extend the budget to go on with what is held"
    )


def _storm(suspension: Suspension) -> str:
    numbers = suspension.numbers
    about = "" if suspension.subject is None else f" about {suspension.subject}"
    many = numbers.get("arrivals", numbers.get("turns"))
    return f"{many} events{about} came in {numbers['window_seconds']} s (at most {numbers['threshold']}); resume it when calm"


_WHY: Mapping[Cause, Callable[[Suspension], str]] = {
    "budget": _budget,
    "storm": _storm,
    "errors": lambda one: f"its evaluator failed {one.numbers['count']} times in a row",
    "no_change": lambda one: (
        f"its evaluator said the same no {one.numbers['count']} times about the same data"
    ),
    "expression_cost": lambda one: f"its expressions were slow {one.numbers['count']} times",
}
