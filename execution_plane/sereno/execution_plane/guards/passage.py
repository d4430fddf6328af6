"""A passage: one event on its way to one subscription, what each guard said of it, and what it came to."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.changes import Change
from sereno.execution_plane.guards.state import GuardState
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import (
    NO_NUMBERS,
    NOT_REACHED,
    DecidedBy,
    Numbers,
    Outcome,
    Verdict,
)


class Decision(NamedTuple):
    """What a passage came to, and the guard, reason and numbers that made it so; `batch` is the one it joined."""

    outcome: Outcome
    guard: DecidedBy
    reason: str
    numbers: Numbers = NO_NUMBERS
    message: UUID | None = None
    batch: UUID | None = None


class Given(NamedTuple):
    """What a passage is decided upon; no guard changes it."""

    state: GuardState
    activation: Activation
    subscription: Subscription
    clock: Reading


class Passage(NamedTuple):
    """One event on its way to one subscription: what was given, the verdict of each guard, the decision, and what that
    writes besides the verdict row.
    """

    given: Given
    verdicts: tuple[Verdict, ...]
    decided: Decision
    changes: tuple[Change, ...] = ()

    @property
    def envelope(self) -> Envelope:
        """The event."""
        return self.given.activation.envelope

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The event as flat CloudEvents JSON."""
        return self.given.activation.attributes

    @property
    def subscription(self) -> Subscription:
        """The subscription that it concerns."""
        return self.given.subscription

    @property
    def takes_key(self) -> bool:
        """Whether the outcome takes the dedup key."""
        return takes_key(self.decided)


def takes_key(decided: Decision) -> bool:
    """Whether an outcome takes the dedup key. An error of ours and a paused subscription leave none, so that the
    sender's retry is a first arrival; a duplicate leaves the first as it stands. Strangers never come this far.
    """
    return decided.outcome != "error" and decided.reason not in ("not_active", "duplicate")


def failed(given: Given, reason: str, fault: str) -> Passage:
    """The passage closed before the first guard by a fault of the data or of ours."""
    return Passage(given, tuple(NOT_REACHED.values()), Decision("error", "match", reason, {"fault": fault}))
