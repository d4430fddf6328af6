"""Shapes of subscriptions, their history and what is to come of them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from sereno.control_plane.api.models.objects import CatalogEntry, MoveRequest
from sereno.control_plane.api.models.shape import Reason, Shape
from sereno.subscriptions.lifecycle import State


class Activity(Shape):
    """What the execution plane reported of a subscription."""

    last_delivered_at: datetime | None
    outcomes: dict[str, int]


class Suspension(Shape):
    """Why a subscription, or one object of it, stands still; or whose backlog a person has yet to decide on."""

    id: str
    cause: str
    subject: str | None
    at: datetime
    sentence: str
    lifted_at: datetime | None
    held: str | None


class SubscriptionEntry(CatalogEntry):
    """A subscription, with what became of the events that matched it, and what suspends it."""

    activity: Activity
    suspensions: list[Suspension] = Field(default_factory=list)


class HistoryEvent(Shape):
    """One step of an object's life."""

    revision: int
    type: str
    actor: str
    reason: str | None
    recorded: datetime
    data: dict[str, Any]


class History(Shape):
    """Every step of an object's life, oldest first."""

    events: list[HistoryEvent]


class ComingTime(Shape):
    """One time at which a subscription fires: the instant, the clock of its zone then, the policy that shaped it."""

    instant: datetime
    local: datetime
    policy: str | None


class SubscriptionPreview(Shape):
    """When a subscription fires next, as it stands; `note` says why not, or why no more."""

    name: str
    tenant: str
    version: int
    state: State
    zone: str | None
    misfire: str
    times: list[ComingTime]
    note: str | None


class ResumeRequest(MoveRequest):
    """Why it goes on, and what becomes of what a suspension held; left out, a storm's is kept for review."""

    held: Literal["deliver", "drop", "review"] | None = None


class ReassignRequest(Shape):
    """Who answers for it from now on, and why."""

    owner: Annotated[str, Field(min_length=1, max_length=160)]
    reason: Reason
