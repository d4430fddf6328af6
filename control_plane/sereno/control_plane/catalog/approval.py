"""Decider of approvals: exactly these bytes are asked for, by one, and released by others, once, or not at all.

pending -> approved | denied | superseded; a pending one that is too old is expired and can only be asked for again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal
from uuid import UUID

import rfc8785

from sereno.control_plane.catalog.event import NewEvent, RecordedEvent
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.refusal import Refusal
from sereno.subscriptions.models.types import format_instant, parse_instant

VALIDITY = timedelta(days=7)
State = Literal["pending", "approved", "denied", "superseded", "expired"]


@dataclass(frozen=True, slots=True)
class Ask:
    """Someone asks for a change; `document` is what will be applied, byte for byte, once it is approved."""

    id: UUID
    subject: Address
    document: str
    asked_by: str
    reasons: tuple[str, ...]
    quorum: int
    base_version: int
    expires: datetime


@dataclass(frozen=True, slots=True)
class Word:
    """A person's word on what they saw: the digest says what that was."""

    by: str
    approves: bool
    digest: str
    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Supersede:
    """Something else is asked for in its place, or its subject is gone."""

    why: str


@dataclass(frozen=True, slots=True)
class Approval:
    """What is asked, by whom, and who has released it so far."""

    id: UUID
    subject: Address
    document: str
    digest: str
    asked_by: str
    reasons: tuple[str, ...]
    quorum: int
    base_version: int
    expires: datetime
    state: State
    revision: int
    created_at: datetime
    approved_by: tuple[str, ...] = field(default=())
    resolved_by: str | None = None
    reason: str | None = None

    @property
    def stream(self) -> str:
        """The name of its event stream within the tenant."""
        return f"approval/{self.id}"

    def now(self, at: datetime) -> State:
        """Its state at an instant: what nobody answered in time is expired."""
        return "expired" if self.state == "pending" and at >= self.expires else self.state


def canonical(subject: Address, spec: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """The one byte form (RFC 8785) of what is asked for; its digest is what a person releases."""
    metadata = {"name": subject.name, "tenant": subject.tenant, "labels": dict(labels)}
    whole: dict[str, Any] = {"kind": subject.kind, "metadata": metadata, "spec": dict(spec)}
    return rfc8785.dumps(whole).decode()


def digest(document: str) -> str:
    """The SHA-256 (hex) of the canonical bytes."""
    return sha256(document.encode()).hexdigest()


def asked(command: Ask) -> tuple[NewEvent, ...]:
    """The events of a new request."""
    data = {
        "id": str(command.id),
        "subject": {"kind": command.subject.kind, "name": command.subject.name},
        "document": command.document,
        "digest": digest(command.document),
        "asked_by": command.asked_by,
        "reasons": list(command.reasons),
        "quorum": command.quorum,
        "base_version": command.base_version,
        "expires": format_instant(command.expires),
    }
    return (NewEvent("approval.requested", data),)


def decide(approval: Approval, command: Word | Supersede) -> tuple[NewEvent, ...] | Refusal:
    """What a word on it leads to. It is good once; an expired one, or another text than was seen, is refused."""
    if isinstance(command, Supersede):
        return (NewEvent("approval.superseded", {"why": command.why}),) if approval.state == "pending" else ()
    state = approval.now(command.at)
    if state != "pending":
        return Refusal("not_allowed", f"approval {approval.id} is {state}; it has to be asked for again")
    if command.digest != approval.digest:
        message = (
            f"approval {approval.id} asks for another text than was seen: its digest is {approval.digest}"
        )
        return Refusal("version_conflict", message)
    if not command.approves:
        return (NewEvent("approval.denied", {"by": command.by, "reason": command.reason}),)
    if command.by in approval.approved_by:
        return Refusal("not_allowed", f"{command.by} has released it already; it takes another person")
    last = len(approval.approved_by) + 1 >= approval.quorum
    kind = "approval.approved" if last else "approval.confirmed"
    return (NewEvent(kind, {"by": command.by, "reason": command.reason}),)


def evolve(approval: Approval | None, tenant: str, event: RecordedEvent) -> Approval:
    """The approval after one more event."""
    data = event.data
    if approval is None:
        return Approval(
            id=UUID(data["id"]),
            subject=Address(tenant, data["subject"]["kind"], data["subject"]["name"]),
            document=data["document"],
            digest=data["digest"],
            asked_by=data["asked_by"],
            reasons=tuple(data["reasons"]),
            quorum=data["quorum"],
            base_version=data["base_version"],
            expires=parse_instant(data["expires"]),
            state="pending",
            revision=event.version,
            created_at=event.recorded,
        )
    moved = replace(approval, revision=event.version)
    match event.type.partition(".")[2]:
        case "confirmed":
            return replace(moved, approved_by=(*approval.approved_by, data["by"]))
        case "approved":
            released = (*approval.approved_by, data["by"])
            return replace(
                moved, state="approved", approved_by=released, resolved_by=data["by"], reason=data["reason"]
            )
        case "denied":
            return replace(moved, state="denied", resolved_by=data["by"], reason=data["reason"])
        case _:
            return replace(moved, state="superseded", reason=data["why"])
