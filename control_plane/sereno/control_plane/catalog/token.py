"""Decider of API tokens: issued once, revoked for good. Only the hash of a token is ever known here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sereno.control_plane.catalog.event import NewEvent, RecordedEvent
from sereno.control_plane.catalog.item import Address, Item
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models.types import format_instant

EVERY_TENANT = "*"
"""The tenant of a token that is valid in each tenant; no tenant can be named so."""


@dataclass(frozen=True, slots=True)
class Issue:
    """A token begins to be valid; `sha256` is in hexadecimal digits."""

    tenant: str
    id: UUID
    sha256: str
    principal: str
    scopes: tuple[str, ...]
    expires: datetime | None = None
    label: str | None = None

    @property
    def address(self) -> Address:
        """Where the token will live: it is named by its id, since people know it only by its text."""
        return Address(self.tenant, "Token", str(self.id))


@dataclass(frozen=True, slots=True)
class Revoke:
    """The token is valid no longer."""

    address: Address


def decide(item: Item | None, command: Issue | Revoke) -> tuple[NewEvent, ...]:
    """The events a command leads to; none when it is already so."""
    if isinstance(command, Revoke):
        return (NewEvent("token.revoked", {}),) if item and item.live else ()
    if item is not None:
        return ()
    data = {
        "id": str(command.id),
        "token_sha256": command.sha256,
        "principal": command.principal,
        "scopes": list(command.scopes),
        "expires": None if command.expires is None else format_instant(command.expires),
        "label": command.label,
    }
    return (NewEvent("token.issued", data),)


def evolve(item: Item | None, where: Address, event: RecordedEvent) -> Item:
    """The token after the event."""
    if item is not None:
        ended = replace(item, revision=event.version, updated_at=event.recorded)
        return replace(ended, state=State.DELETED, token_sha256=None)
    return Item(
        address=where,
        id=UUID(event.data["id"]),
        version=1,
        revision=event.version,
        state=State.ACTIVE,
        labels={},
        spec={
            name: event.data[name]
            for name in ("principal", "scopes", "expires", "label")
            if event.data[name] is not None
        },
        token_sha256=event.data["token_sha256"],
        created_by=event.actor,
        created_at=event.recorded,
        updated_at=event.recorded,
    )


def bootstrap(
    live: Sequence[Item], sha256: str, token_id: UUID, principal: str
) -> tuple[Issue | None, tuple[Item, ...]]:
    """What makes exactly this hash the administrator's: the token to issue, if it is new, and those to revoke."""
    ours = [token for token in live if token.spec["principal"] == principal]
    outdated = tuple(token for token in ours if token.token_sha256 != sha256)
    known = len(outdated) < len(ours)
    return (None if known else Issue(EVERY_TENANT, token_id, sha256, principal, ("*",))), outdated
