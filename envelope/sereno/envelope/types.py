"""The catalogue of the event types that the platform itself emits (`sereno types list`)."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["time", "calendar", "platform", "webhook", "mcp", "condition"]

CALENDAR_DUE = "sereno.calendar.due"
TIME_DUE = "sereno.time.due"
WEBHOOK_RECEIVED = "sereno.webhook.received"
MCP_ITEM = "sereno.mcp.item"
SOURCE_STALLED = "sereno.platform.source.stalled"
SOURCE_CHANGED = "sereno.platform.source.changed"
CURSOR_LOST = "sereno.platform.source.cursor_lost"
CONDITION_MET = "sereno.condition.met"
APPROVAL_RESOLVED = "sereno.platform.approval.resolved"
SUBSCRIPTION_CHANGED = "sereno.platform.subscription.changed"
SUBSCRIPTION_SUSPENDED = "sereno.platform.subscription.suspended"
CONTENT_SUSPICIOUS = "sereno.platform.content.suspicious"
RUN_FINISHED = "sereno.platform.run.finished"
MESSAGE_DEAD = "sereno.platform.message.dead"
MILESTONE = "sereno.platform.milestone"
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
    EventType(MCP_ITEM, "mcp", "A polled source has an item, or a version of one, that was not known."),
    EventType(
        APPROVAL_RESOLVED,
        "platform",
        "What waited for a person was decided: an approval, or the answer to parked work.",
    ),
    EventType(
        CONTENT_SUSPICIOUS,
        "platform",
        "What a condition is judged on reads like an instruction to a model.",
    ),
    EventType(ESTOP, "platform", "The emergency stop of a scope was engaged or released."),
    EventType(
        MESSAGE_DEAD,
        "platform",
        "A message used up its attempts or its time, was rejected, or was ended by a person.",
    ),
    EventType(MILESTONE, "platform", "An agent says, with the lease of its work, that it has come so far."),
    EventType(RUN_FINISHED, "platform", "A run ended with an acknowledgement."),
    EventType(
        SOURCE_CHANGED,
        "platform",
        "A connected server defines a tool otherwise than it was pinned, or knows us as another account: its sources stand still.",
    ),
    EventType(
        CURSOR_LOST,
        "platform",
        "A subscription asks another thing of its source, so that how far it was read does not count any more.",
    ),
    EventType(SOURCE_STALLED, "platform", "A polled source could not be read several times in a row."),
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
