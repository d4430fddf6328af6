"""Shapes of what waits for a person, and of their word."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from sereno.control_plane.api.models.shape import Reason, Shape
from sereno.control_plane.catalog.item import Kind


class ApprovalEntry(Shape):
    """Something that waits, or waited, for a person; `document` are the bytes that the digest covers."""

    id: str
    tenant: str
    kind: Kind
    name: str
    state: Literal["pending", "approved", "denied", "superseded", "expired"]
    asked_by: str
    asked_at: datetime
    expires: datetime
    waits: list[str]
    digest: str
    document: str
    wants: dict[str, Any]
    quorum: int
    approved_by: list[str]
    resolved_by: str | None
    reason: str | None


class Approvals(Shape):
    """Newest first."""

    items: list[ApprovalEntry]


class ResolvedAnswer(ApprovalEntry):
    """The approval after a person's word."""

    manifest: int


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="the digest of what was seen")]


class WordRequest(Shape):
    """A person's yes to exactly what they saw."""

    digest: Digest
    reason: Reason | None = None


class DenialRequest(Shape):
    """A person's no, with the reason that the asking side is told."""

    digest: Digest
    reason: Reason


class AnswerRequest(Shape):
    """What a person says to parked work."""

    outcome: Literal["approved", "denied", "answered"]
    answer: Any = None
    reason: Reason | None = None


class AnswerAccepted(Shape):
    """The answer is on its way."""

    message: str
    tenant: str
    outcome: str
