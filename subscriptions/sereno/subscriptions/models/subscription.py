"""A subscription as declared: who wants to know, which agent to wake, with what and within which limits."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StrictFloat, StrictInt

from sereno.subscriptions.models.agent import Mode
from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.filter import Filter
from sereno.subscriptions.models.limits import Limits
from sereno.subscriptions.models.source import Source
from sereno.subscriptions.models.types import (
    AgentReference,
    Duration,
    KeyExpression,
    LongText,
    Principal,
    ShortText,
)

Suspicious = Literal["warn", "mask", "hold"]
Misfire = Literal["skip", "latest", "all"]


class Condition(Declared):
    """A criterion judged by an evaluator, and how sure it must be."""

    criterion: LongText
    min_confidence: Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)] = 0.7
    suspicious: Suspicious | None = None
    """What becomes of content that reads like an instruction to a model; left out, it is judged and labelled (warn)."""


class Delivery(Declared):
    """How the message waits in the mailbox and how it is worked on."""

    priority: Annotated[StrictInt, Field(ge=-100, le=100)] = 0
    serial_by: KeyExpression | None = None
    max_attempts: Annotated[StrictInt, Field(ge=1, le=1000)] = 5
    lease: Duration = timedelta(seconds=60)
    max_run: Duration = timedelta(hours=1)
    max_age: Duration = timedelta(hours=24)


class SubscriptionSpec(Declared):
    """The whole contract between a source and an agent."""

    owner: Principal
    agent: AgentReference
    instruction: LongText
    workspace: ShortText | None = None
    source: Source
    filters: Annotated[tuple[Filter, ...], Field(max_length=64)] = ()
    sender: Literal["any", "verified"] = "any"
    condition: Condition | None = None
    limits: Limits = Limits()
    delivery: Delivery = Delivery()
    misfire: Misfire = "latest"
    mode: Mode = "ask_each_time"
