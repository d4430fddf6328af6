"""A passage: one event on its way to one subscription, and what each guard said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards.subscription import Subscription

GuardName = Literal["dedup", "cycle", "rights", "cooldown", "batching", "delivery", "storm"]
# An event whose filters cannot be evaluated never came to a guard.
DecidedBy = GuardName | Literal["match"]
GUARD_NAMES: tuple[GuardName, ...] = get_args(GuardName)
Answer = Literal["passed", "objected", "not_configured", "not_reached"]
Outcome = Literal["delivered", "merged", "dropped", "held", "suspended", "awaiting_verdict", "error"]
Number = str | int | float | bool | list[str] | None
Numbers = Mapping[str, Number]
"""What a guard counted with, ready for JSON: lengths in seconds, times as RFC 3339 text."""


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
    policy_valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one guard said, with the numbers it used."""

    guard: GuardName
    answer: Answer
    reason: str | None = None
    numbers: Numbers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """One event, one subscription, a reading of the clocks, the state, the verdicts so far and the outcome;
    `guard`, `reason` and `numbers` are those of the guard that decided.
    """

    envelope: Envelope
    subscription: Subscription
    clock: Reading
    state: GuardState
    verdicts: tuple[Verdict, ...] = ()
    outcome: Outcome | None = None
    guard: DecidedBy | None = None
    reason: str | None = None
    numbers: Numbers = field(default_factory=dict)
    message: UUID | None = None

    @property
    def is_open(self) -> bool:
        """Whether no guard has objected so far."""
        return self.outcome is None or self.outcome == "delivered"

    def passes(self, guard: GuardName, numbers: Numbers) -> "Passage":
        """The passage after `guard` had nothing against it."""
        return self._after(Verdict(guard, "passed", None, numbers))

    def is_not_asked(self, guard: GuardName) -> "Passage":
        """The passage after a guard for which the subscription sets no limit."""
        return self._after(Verdict(guard, "not_configured"))

    def leaves_out(self, guard: GuardName) -> "Passage":
        """The passage after a guard that stands behind the one that objected."""
        return self._after(Verdict(guard, "not_reached"))

    def objects(self, guard: GuardName, outcome: Outcome, reason: str, numbers: Numbers) -> "Passage":
        """The passage closed by `guard`."""
        verdict = Verdict(guard, "objected", reason, numbers)
        return self._closed((*self.verdicts, verdict), outcome, guard, reason=reason, numbers=numbers)

    def delivers(self, message: UUID, numbers: Numbers) -> "Passage":
        """The passage as the message that it becomes, unless a later guard objects."""
        verdict = Verdict("delivery", "passed", "delivered", numbers)
        return self._closed(
            (*self.verdicts, verdict),
            "delivered",
            "delivery",
            reason="delivered",
            numbers=numbers,
            message=message,
        )

    def fails(self, reason: str, fault: str) -> "Passage":
        """The passage closed before the first guard by a fault of the data or of ours."""
        verdicts = tuple(Verdict(name, "not_reached") for name in GUARD_NAMES)
        return self._closed(verdicts, "error", "match", reason=reason, numbers={"fault": fault})

    def _after(self, verdict: Verdict) -> "Passage":
        return Passage(
            self.envelope,
            self.subscription,
            self.clock,
            self.state,
            (*self.verdicts, verdict),
            self.outcome,
            self.guard,
            self.reason,
            self.numbers,
            self.message,
        )

    def _closed(
        self,
        verdicts: tuple[Verdict, ...],
        outcome: Outcome,
        guard: DecidedBy,
        *,
        reason: str,
        numbers: Numbers,
        message: UUID | None = None,
    ) -> "Passage":
        return Passage(
            self.envelope,
            self.subscription,
            self.clock,
            self.state,
            verdicts,
            outcome,
            guard,
            reason,
            numbers,
            message,
        )
