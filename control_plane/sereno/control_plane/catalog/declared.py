"""Decider of the objects that are simply declared: tenants, principals, agents, endpoints, grants and policies.

Their life: absent -> active -> deleted -> (only when asked to revive) active; some are paused in between, and a
policy may be born pending until others have released it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol
from uuid import UUID

from sereno.control_plane.catalog.event import NewEvent, RecordedEvent
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.refusal import Refusal
from sereno.subscriptions.lifecycle import State


@dataclass(frozen=True, slots=True)
class Declare:
    """Make the object be as written; `id` and `token_sha256` are used only when it begins to exist."""

    address: Address
    spec: Mapping[str, object]
    labels: Mapping[str, str]
    id: UUID
    token_sha256: str | None = None
    expected_version: int | None = None
    revive: bool = False
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Delete the object; its name stays taken and its history stays."""

    address: Address


@dataclass(frozen=True, slots=True)
class Switch:
    """Pause an endpoint, so that what comes is recorded and wakes nobody; suspend an agent or a principal; or let it go on."""

    address: Address
    verb: Literal["pause", "resume"]


class Precondition(Protocol):
    """What every declaring command carries."""

    @property
    def address(self) -> Address: ...
    @property
    def expected_version(self) -> int | None: ...
    @property
    def revive(self) -> bool: ...


def objection(item: Item | None, command: Precondition) -> Refusal | None:
    """Whether the current state forbids a declaration: another version than written, or a tombstone."""
    current = item.version if item else 0
    if command.expected_version is not None and command.expected_version != current:
        message = f"{command.address} has version {current}, not {command.expected_version} as metadata.version says"
        return Refusal("version_conflict", message, current)
    if item and not item.live and not command.revive:
        message = f"{command.address} was deleted; its name yields only to 'apply --revive --reason WHY'"
        return Refusal("deleted", message, current)
    return None


def decide(item: Item | None, command: Declare | Withdraw | Switch) -> tuple[NewEvent, ...] | Refusal:
    """The events a command leads to; none when everything is already so."""
    prefix = command.address.kind.lower()
    if isinstance(command, Switch):
        return _switched(item, command)
    if isinstance(command, Withdraw):
        if item is None:
            return Refusal("not_found", f"{command.address} does not exist")
        return (NewEvent(f"{prefix}.deleted", {}),) if item.live else ()
    refusal = objection(item, command)
    return _declared(item, command, prefix) if refusal is None else refusal


def _declared(item: Item | None, command: Declare, prefix: str) -> tuple[NewEvent, ...]:
    written = {"spec": dict(command.spec), "labels": dict(command.labels)}
    if item is None:
        data = {"id": str(command.id), **written, "token_sha256": command.token_sha256}
        return (NewEvent(f"{prefix}.requested" if command.pending else f"{prefix}.declared", data),)
    if not item.live:
        return (NewEvent(f"{prefix}.revived", {**written, "token_sha256": command.token_sha256}),)
    same = item.spec == command.spec and item.labels == command.labels
    if same and (command.pending or item.state is not State.PENDING_APPROVAL):
        return ()
    if command.pending:
        return (NewEvent(f"{prefix}.requested", written),)
    return (NewEvent(f"{prefix}.edited", written),)


def _switched(item: Item | None, command: Switch) -> tuple[NewEvent, ...] | Refusal:
    if item is None or not item.live:
        return Refusal("not_found", f"{command.address} does not exist")
    wanted = State.PAUSED if command.verb == "pause" else State.ACTIVE
    return () if item.state is wanted else (NewEvent(f"{command.address.kind.lower()}.{command.verb}d", {}),)


def evolve(item: Item | None, where: Address, event: RecordedEvent) -> Item:
    """The object after the event."""
    data = event.data
    if item is None:
        pending = event.type.endswith(".requested")
        return born(where, event, State.PENDING_APPROVAL if pending else State.ACTIVE)
    moved = replace(item, revision=event.version, updated_at=event.recorded)
    match event.type.partition(".")[2]:
        case "deleted":
            return replace(moved, state=State.DELETED, token_sha256=None)
        case "requested":
            return rewritten(moved, data)
        case "paused":
            return replace(moved, state=State.PAUSED)
        case "resumed":
            return replace(moved, state=State.ACTIVE)
        case "revived":
            token = data["token_sha256"]
            return replace(rewritten(moved, data), state=State.ACTIVE, token_sha256=token)
        case _:
            # Whoever edits what waits has the right to: it is in force with this text.
            waiting = item.state is State.PENDING_APPROVAL
            return replace(rewritten(moved, data), state=State.ACTIVE if waiting else item.state)


def born(where: Address, event: RecordedEvent, state: State) -> Item:
    """The object after its first event, which holds its id and text."""
    return Item(
        address=where,
        id=UUID(event.data["id"]),
        version=1,
        revision=event.version,
        state=state,
        labels=event.data["labels"],
        spec=event.data["spec"],
        token_sha256=event.data.get("token_sha256"),
        created_by=event.actor,
        created_at=event.recorded,
        updated_at=event.recorded,
    )


def rewritten(item: Item, data: Mapping[str, Any]) -> Item:
    """The object with the text of the event, which is its next version."""
    return replace(item, spec=data["spec"], labels=data["labels"], version=item.version + 1)
