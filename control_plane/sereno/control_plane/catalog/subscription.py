"""Decider of subscriptions: the life of `sereno.subscriptions.lifecycle` with the text that each version had."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from sereno.control_plane.catalog.declared import born, objection, rewritten
from sereno.control_plane.catalog.event import NewEvent, RecordedEvent
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.refusal import Code, Refusal
from sereno.subscriptions import lifecycle
from sereno.subscriptions.lifecycle import State

# Verb of the life cycle -> type of the stored event.
EVENT_TYPES: Mapping[str, str] = {
    "create": "subscription.created",
    "submit": "subscription.submitted",
    "approve": "subscription.approved",
    "reject": "subscription.rejected",
    "activate": "subscription.activated",
    "pause": "subscription.paused",
    "resume": "subscription.resumed",
    "edit": "subscription.edited",
    "expire": "subscription.expired",
    "exhaust": "subscription.exhausted",
    "delete": "subscription.deleted",
    "revive": "subscription.revived",
}
_WITH_TEXT = frozenset({"create", "edit", "revive", "submit", "activate"})
_CODES: Mapping[str, Code] = {"unknown": "not_found", "reason_required": "reason_required"}


@dataclass(frozen=True, slots=True)
class Declare:
    """Make the subscription be as written; a person with the right to do so gets it active at once."""

    address: Address
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    id: UUID
    actor: str
    reason: str | None = None
    expected_version: int | None = None
    revive: bool = False
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Take one step of the life cycle that leaves the text alone: pause, resume, delete and the like."""

    address: Address
    verb: lifecycle.Verb
    actor: str
    reason: str | None = None


def decide(item: Item | None, command: Declare | Move) -> tuple[NewEvent, ...] | Refusal:
    """The events a command leads to; none when everything is already so."""
    if isinstance(command, Move):
        return _moved(item, lifecycle.Step(command.verb, command.actor, command.reason), command.address, {})
    refusal = objection(item, command)
    if refusal is not None:
        return refusal
    text: dict[str, Any] = {"spec": dict(command.spec), "labels": dict(command.labels)}
    if item is None:
        create = lifecycle.Create(command.actor, _born(command), command.reason)
        return _moved(None, create, command.address, {"id": str(command.id), **text})
    if not item.live:
        revive = lifecycle.Step("revive", command.actor, command.reason)
        return _moved(item, revive, command.address, text)
    if item.state is State.PENDING_APPROVAL and not command.pending:
        return _taken_over(item, command, text)
    if item.state is State.REJECTED:
        verb: lifecycle.Verb = "submit" if command.pending else "activate"
        return _moved(item, lifecycle.Step(verb, command.actor, command.reason), command.address, text)
    if item.spec == command.spec and item.labels == command.labels:
        return ()
    return _moved(item, lifecycle.Step("edit", command.actor, command.reason), command.address, text)


def _taken_over(item: Item, command: Declare, text: Mapping[str, Any]) -> tuple[NewEvent, ...] | Refusal:
    """Who has the right to declare it makes what waits their own: with this text it is in force."""
    edited = _moved(item, lifecycle.Step("edit", command.actor, command.reason), command.address, text)
    approved = _moved(item, lifecycle.Step("approve", command.actor, command.reason), command.address, {})
    if isinstance(edited, Refusal) or isinstance(approved, Refusal):
        return edited if isinstance(edited, Refusal) else approved
    return (*edited, *approved)


def _born(command: Declare) -> Literal[State.PENDING_APPROVAL, State.ACTIVE]:
    return State.PENDING_APPROVAL if command.pending else State.ACTIVE


def _moved(
    item: Item | None, step: lifecycle.Command, address: Address, text: Mapping[str, Any]
) -> tuple[NewEvent, ...] | Refusal:
    life = lifecycle.Subscription(item.state, item.version) if item else lifecycle.initial()
    answer = lifecycle.decide(life, step)
    if isinstance(answer, lifecycle.Refusal):
        code = _CODES.get(answer.code, "not_allowed")
        return Refusal(code, f"{address}: {answer.message}", item.version if item else None)
    return tuple(NewEvent(EVENT_TYPES[moved.verb], _data(moved, text)) for moved in answer)


def _data(moved: lifecycle.Moved, text: Mapping[str, Any]) -> dict[str, Any]:
    states = {"before": moved.before.value if moved.before else None, "after": moved.after.value}
    return {**states, "version": moved.version, **(text if moved.verb in _WITH_TEXT else {})}


def evolve(item: Item | None, where: Address, event: RecordedEvent) -> Item:
    """The subscription after the event."""
    after = State(event.data["after"])
    if item is None:
        return born(where, event, after)
    moved = replace(item, state=after, revision=event.version, updated_at=event.recorded)
    return rewritten(moved, event.data) if "spec" in event.data else moved
