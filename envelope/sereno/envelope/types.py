"""The catalogue of the event types that the platform itself emits (`sereno types list`)."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["time", "calendar", "platform", "webhook", "mcp", "condition"]

CALENDAR_DUE = "sereno.calendar.due"
TIME_DUE = "sereno.time.due"
WEBHOOK_RECEIVED = "sereno.webhook.received"
CONDITION_MET = "sereno.condition.met"
APPROVAL_RESOLVED = "sereno.platform.approval.resolved"
SUBSCRIPTION_CHANGED = "sereno.platform.subscription.changed"
SUBSCRIPTION_SUSPENDED = "sereno.platform.subscription.suspended"
RUN_FINISHED = "sereno.platform.run.finished"
MESSAGE_DEAD = "sereno.platform.message.dead"
ESTOP = "sereno.platform.estop"


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of event of ours: its CloudEvents `type`, its family and what it says has happened."""

    name: str
    family: Family
    description: str


CATALOGUE: tuple[EventType, ...] = (
    EventType(
        CALENDAR_DUE,
        "calendar",
        "The time before or after an entry of a calendar, or a date of the platform's own, arrived.",
    ),
    EventType(
        CONDITION_MET, "condition", "An evaluator judged that an event meets the condition of a subscription."
    ),
    EventType(
        APPROVAL_RESOLVED,
        "platform",
        "What waited for a person was decided: an approval, or the answer to parked work.",
    ),
    EventType(ESTOP, "platform", "The emergency stop of a scope was engaged or released."),
    EventType(
        MESSAGE_DEAD,
        "platform",
        "A message used up its attempts or its time, was rejected, or was ended by a person.",
    ),
    EventType(RUN_FINISHED, "platform", "A run ended with an acknowledgement."),
    EventType(
        SUBSCRIPTION_CHANGED,
        "platform",
        "A subscription was created, edited, moved to another state or deleted.",
    ),
    EventType(
        SUBSCRIPTION_SUSPENDED,
        "platform",
        "A subscription, or one object of it, stands still until a person lifts it.",
    ),
    EventType(TIME_DUE, "time", "A nominal instant of a time subscription arrived."),
    EventType(WEBHOOK_RECEIVED, "webhook", "A verified webhook whose own type is unsigned or absent."),
)
