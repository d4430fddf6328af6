"""A passage: one event on its way to one subscription, and what each guard said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards.subscription import Subscription
from sereno.subscriptions.rights import Standing

GuardName = Literal["dedup", "cycle", "rights", "cooldown", "batching", "delivery", "storm"]
# An event whose filters cannot be evaluated never came to a guard.
DecidedBy = GuardName | Literal["match"]
GUARD_NAMES: tuple[GuardName, ...] = get_args(GuardName)
Answer = Literal["passed", "objected", "not_configured", "not_reached"]
Outcome = Literal["delivered", "merged", "dropped", "held", "suspended", "awaiting_verdict", "error"]
Number = str | int | float | bool | datetime | list[str] | None
Numbers = Mapping[str, Number]
"""What a guard counted with; lengths are seconds. In JSON a time becomes RFC 3339 text with Z."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Two clocks: `recorded` is when the platform received the event, never earlier than the one before it
    of the same subscription; `database` is the deciding transaction's own.
    """

    recorded: datetime
    database: datetime


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An earlier receipt of the same logical occurrence, and what became of it."""

    receiptid: str
    outcome: str
    message: UUID | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A message among the causes of an event, and the agent that it woke."""

    message: str
    agent: str


@dataclass(frozen=True, slots=True)
class GuardState:
    """What the guards remember that bears on one passage."""

    same_key: Occurrence | None = None
    same_body: Occurrence | None = None
    ancestors: tuple[Ancestor, ...] = ()
    last_delivered: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one guard said, with the numbers it used."""

    guard: GuardName
    answer: Answer
    reason: str | None = None
    numbers: Numbers = field(default_factory=dict)


_NOT_CONFIGURED = {name: Verdict(name, "not_configured") for name in GUARD_NAMES}
_NOT_REACHED = {name: Verdict(name, "not_reached") for name in GUARD_NAMES}


@dataclass(frozen=True, slots=True)
class Given:
    """What a passage is decided upon; no guard changes it. `standing` is the subscription's under the policy in force,
    `stop` the scope of a stop that stands in its way.
    """

    envelope: Envelope
    subscription: Subscription
    clock: Reading
    state: GuardState
    standing: Standing
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a passage came to, and the guard, reason and numbers that made it so."""

    outcome: Outcome
    guard: DecidedBy
    reason: str
    numbers: Numbers = field(default_factory=dict)
    message: UUID | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """One event on its way to one subscription: what is given, the verdicts so far, and the decision if there is one."""

    given: Given
    verdicts: tuple[Verdict, ...] = ()
    decision: Decision | None = None

    @property
    def envelope(self) -> Envelope:
        """The event."""
        return self.given.envelope

    @property
    def subscription(self) -> Subscription:
        """The subscription that it concerns."""
        return self.given.subscription

    @property
    def is_open(self) -> bool:
        """Whether no guard has objected so far."""
        return self.decision is None or self.decision.outcome == "delivered"

    @property
    def decided(self) -> Decision:
        """The decision; a passage has one after its last guard."""
        if self.decision is None:
            raise AssertionError("the passage is not at its end")
        return self.decision

    def passes(self, guard: GuardName, numbers: Numbers) -> "Passage":
        """The passage after `guard` had nothing against it."""
        return self._after(Verdict(guard, "passed", None, numbers))

    def is_not_asked(self, guard: GuardName) -> "Passage":
        """The passage after a guard for which the subscription sets no limit."""
        return self._after(_NOT_CONFIGURED[guard])

    def leaves_out(self, guard: GuardName) -> "Passage":
        """The passage after a guard that stands behind the one that objected."""
        return self._after(_NOT_REACHED[guard])

    def objects(self, guard: GuardName, outcome: Outcome, reason: str, numbers: Numbers) -> "Passage":
        """The passage closed by `guard`."""
        verdict = Verdict(guard, "objected", reason, numbers)
        return Passage(self.given, (*self.verdicts, verdict), Decision(outcome, guard, reason, numbers))

    def delivers(self, message: UUID, numbers: Numbers) -> "Passage":
        """The passage as the message that it becomes, unless a later guard objects."""
        verdict = Verdict("delivery", "passed", "delivered", numbers)
        decision = Decision("delivered", "delivery", "delivered", numbers, message)
        return Passage(self.given, (*self.verdicts, verdict), decision)

    def fails(self, reason: str, fault: str) -> "Passage":
        """The passage closed before the first guard by a fault of the data or of ours."""
        return Passage(
            self.given, tuple(_NOT_REACHED.values()), Decision("error", "match", reason, {"fault": fault})
        )

    def _after(self, verdict: Verdict) -> "Passage":
        return Passage(self.given, (*self.verdicts, verdict), self.decision)
