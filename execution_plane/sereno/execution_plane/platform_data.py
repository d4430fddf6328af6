"""What the events of the platform tell: the shape of `data` for each type, as their schemas are published."""

from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict

from sereno.envelope.types import ESTOP, MESSAGE_DEAD, RUN_FINISHED, SUBSCRIPTION_SUSPENDED


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunFinished(_Data):
    """A run ended with an acknowledgement."""

    run: UUID
    message: UUID
    agent: str
    subscription: str
    attempts: int | None = None
    result: Any = None


class MessageDead(_Data):
    """A message will not be worked on any more, unless a person brings it back."""

    message: UUID
    run: UUID
    agent: str
    subscription: str
    reason: str


class SubscriptionSuspended(_Data):
    """A subscription, or one object of it (`subject`), stands still until an authorised person lifts it."""

    suspension: UUID
    subscription: str
    cause: str
    subject: str | None = None
    sentence: str
    receipt: str
    at: AwareDatetime


class EmergencyStop(_Data):
    """A scope (`*`, a tenant, or TENANT/agent|subscription|connector|family/NAME) was stopped, or may go on.

    `held` says what becomes of what waited: delivered, dropped, or left for review.
    """

    stop: UUID
    scope: str
    state: Literal["engaged", "released"]
    reason: str
    by: str
    at: AwareDatetime
    held: Literal["deliver", "drop", "review"] | None = None


DATA: dict[str, type[BaseModel]] = {
    RUN_FINISHED: RunFinished,
    MESSAGE_DEAD: MessageDead,
    SUBSCRIPTION_SUSPENDED: SubscriptionSuspended,
    ESTOP: EmergencyStop,
}
"""By type of event."""
