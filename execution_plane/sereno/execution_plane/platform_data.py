"""What the events of the platform tell: the shape of `data` for each type, as their schemas are published."""

from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict

from sereno.envelope.types import (
    CONTENT_SUSPICIOUS,
    CURSOR_LOST,
    ESTOP,
    MESSAGE_DEAD,
    MILESTONE,
    RUN_FINISHED,
    SOURCE_CHANGED,
    SOURCE_STALLED,
    SUBSCRIPTION_SUSPENDED,
)


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


class Milestone(BaseModel):
    """An agent has come so far; what else it says of it is its own."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str | None = None


class SubscriptionSuspended(_Data):
    """A subscription, or one object of it (`subject`), stands still until an authorised person lifts it."""

    suspension: UUID
    subscription: str
    cause: str
    subject: str | None = None
    sentence: str
    receipt: str
    at: AwareDatetime


class SourceStalled(_Data):
    """A polled source could not be read `failures` times in a row; it is tried again, later and later."""

    connector: str
    source: str
    tool: str
    subscriptions: list[str]
    failures: int
    fault: str
    at: AwareDatetime


class SourceChanged(_Data):
    """A connector was stopped, and the conditions of these subscriptions are to be checked again before it goes on."""

    connector: str
    cause: str
    sentence: str
    recheck_due: list[str]
    at: AwareDatetime


class CursorLost(_Data):
    """A subscription reads another thing: from `head` on, or with so many items that were there before."""

    subscription: str
    connector: str
    begins: str
    at: AwareDatetime


class ContentSuspicious(_Data):
    """What a condition is judged on reads like an instruction to a model; `held` says that it was not judged."""

    subscription: str
    receipt: str
    signs: tuple[str, ...]
    held: bool


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
    MILESTONE: Milestone,
    SUBSCRIPTION_SUSPENDED: SubscriptionSuspended,
    SOURCE_STALLED: SourceStalled,
    SOURCE_CHANGED: SourceChanged,
    CURSOR_LOST: CursorLost,
    CONTENT_SUSPICIOUS: ContentSuspicious,
    ESTOP: EmergencyStop,
}
"""By type of event."""
