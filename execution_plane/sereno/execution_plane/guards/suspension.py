"""A suspension: why a subscription, or one object of it, stands still until an authorised person lifts it."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Literal, NamedTuple
from uuid import UUID

from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.guards.verdict import GuardName, Numbers

Cause = Literal["budget", "storm", "errors", "no_change", "expression_cost"]

# By whom what arrives meanwhile is held; the reason is the cause.
HELD_BY: Mapping[Cause, GuardName] = {"budget": "rights", "storm": "storm"}


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
