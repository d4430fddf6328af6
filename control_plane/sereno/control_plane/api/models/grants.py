"""Shapes of grants, policies, and of who may have whom woken."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from sereno.control_plane.api.models.shape import Reason, Shape
from sereno.subscriptions.lifecycle import State


class GrantRequest(Shape):
    """A grant on one agent or source, or with `deny` a prohibition; without `name` its text names it."""

    name: str | None = None
    to: str | None = None
    agent: str | None = None
    source: str | None = None
    deny: str | None = None
    rights: Annotated[list[str], Field(max_length=2)] | None = None
    subscriptions: int | None = None
    expires: AwareDatetime | None = None
    reason: Reason | None = None


class GrantAnswer(Shape):
    """The grant after the step."""

    name: str
    tenant: str
    version: int
    state: State
    spec: dict[str, Any]
    manifest: int


class PolicyAnswer(Shape):
    """The policies in force."""

    version: str
    policies: str
    schema_text: str


class CanDecision(Shape):
    """One decision, the rule that took it, and the command that would allow what is not."""

    action: str
    allowed: bool
    rule: str
    command: str | None


class CanAnswer(Shape):
    """Whether a principal may have an agent woken, and have a source observed."""

    who: str
    agent: str
    source: str | None
    as_of: datetime
    allowed: bool
    policy_version: str
    decisions: list[CanDecision]
