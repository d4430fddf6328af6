"""The catalogue of the event types that the platform itself emits (`sereno types list`)."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["time", "calendar", "platform", "webhook", "mcp", "condition"]

CALENDAR_DUE = "sereno.calendar.due"
TIME_DUE = "sereno.time.due"
WEBHOOK_RECEIVED = "sereno.webhook.received"
CONDITION_MET = "sereno.condition.met"
SUBSCRIPTION_CHANGED = "sereno.platform.subscription.changed"


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
        SUBSCRIPTION_CHANGED,
        "platform",
        "A subscription was created, edited, moved to another state or deleted.",
    ),
    EventType(TIME_DUE, "time", "A nominal instant of a time subscription arrived."),
    EventType(WEBHOOK_RECEIVED, "webhook", "A verified webhook whose own type is unsigned or absent."),
)
