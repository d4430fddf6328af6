"""The message: one wake-up for one agent, immutable from the moment it is deposited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SubscriptionRef:
    """The version of the subscription that asked for this wake-up."""

    name: str
    version: int


@dataclass(frozen=True, slots=True)
class Message:
    """What an agent is woken with: instruction, evidence, limits and ancestry.

    `envelopes` are flat CloudEvents objects (JSON), at least one. `ready_at` is None for "at once".
    `context` holds what every family hands over alike: `on_behalf_of`, `model_hint`,
    `budget_reservation`, `trace`. `lineage` is the set of ancestors, one object per message.
    Durations are seconds. Raises ValueError naming the field when a limit makes no sense.
    """

    id: UUID
    tenant: str
    agent: str
    subscription: SubscriptionRef
    instruction: str
    envelopes: Sequence[Mapping[str, Any]]
    priority: int = 0
    ready_at: datetime | None = None
    serial_key: str | None = None
    max_attempts: int = 5
    lease_seconds: float = 60.0
    max_run_seconds: float = 3600.0
    max_age_seconds: float = 86400.0
    lineage: Sequence[Mapping[str, Any]] = ()
    context: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.envelopes:
            raise ValueError("envelopes: a message has at least one cause")
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts: expected at least 1, got {self.max_attempts}")
        for name in ("lease_seconds", "max_run_seconds", "max_age_seconds"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}: expected more than 0 seconds, got {getattr(self, name)}")
        if self.ready_at is not None and self.ready_at.tzinfo is None:
            raise ValueError("ready_at: expected a time with a zone")
