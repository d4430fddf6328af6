"""What applying documents would do to the catalog: every step, or everything that stands against it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sereno.control_plane.catalog import declared, subscription
from sereno.control_plane.catalog.decider import Command, decide, fold
from sereno.control_plane.catalog.event import RecordedEvent, record
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.reference import address_of, missing
from sereno.control_plane.catalog.refusal import Refusal, Refusals
from sereno.subscriptions import schedule
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Fault, Faults
from sereno.subscriptions.models import SubscriptionSpec

Change = Literal["created", "updated", "unchanged", "deleted"]
# What refers to others goes before what others refer to.
_PRUNE_ORDER = ("Subscription", "Endpoint", "Agent")


@dataclass(frozen=True, slots=True)
class Intent:
    """Who applies, when, why, and whether deleted names may be taken again."""

    actor: str
    at: datetime
    reason: str | None = None
    revive: bool = False


@dataclass(frozen=True, slots=True)
class Minted:
    """The randomness that one document may need: an id and the hash of a path token."""

    id: UUID
    token_sha256: str


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalog holds of all that the documents touch.

    `items` are the objects at the documents' addresses; `live` of all referred objects those that exist;
    `prunable` what carries the label to prune; `dependents` who refers to each of these.
    """

    items: Mapping[Address, Item]
    live: frozenset[Address]
    prunable: tuple[Item, ...] = ()
    dependents: Mapping[Address, frozenset[Address]] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One object of the plan: before, after, and the events between."""

    change: Change
    before: Item | None
    after: Item
    events: tuple[RecordedEvent, ...]


def plan(
    documents: Sequence[Document], known: Known, minted: Sequence[Minted], intent: Intent
) -> tuple[Step, ...] | Faults | Refusals:
    """The steps in the documents' order and then the deletions; or all faults, else all refusals."""
    wanted = {address_of(document) for document in documents}
    doomed = [item for item in known.prunable if item.address not in wanted]
    existing = (known.live | wanted) - {item.address for item in doomed}
    faults = Faults.of([*missing(documents, existing), *_over(documents, known, intent.at)])
    if faults:
        return faults
    refusals = list(_in_use(doomed, known, wanted))
    commands = [*_declarations(documents, known, minted, intent), *_deletions(doomed, intent)]
    answers = [step(before, command, intent) for before, command in commands]
    refusals += [answer for answer in answers if isinstance(answer, Refusal)]
    if refusals:
        return Refusals(tuple(refusals))
    return tuple(answer for answer in answers if isinstance(answer, Step))


def _over(documents: Sequence[Document], known: Known, now: datetime) -> Iterator[Fault]:
    """A fault for each new schedule that fires no more, or too often; one that was declared before may stay."""
    for document in documents:
        spec = document.spec
        if not isinstance(spec, SubscriptionSpec) or spec.source.time is None:
            continue
        before = known.items.get(address_of(document))
        if before and before.live and before.spec.get("source") == document.canonical()["source"]:
            continue
        refused = schedule.objection(spec.source.time, now)
        if refused is not None:
            yield document.fault("spec.source.time", str(refused))


def _in_use(doomed: Sequence[Item], known: Known, wanted: set[Address]) -> Iterator[Refusal]:
    gone = {item.address for item in doomed}
    for item in doomed:
        # What is declared anew was checked against what will exist.
        users = (known.dependents or {}).get(item.address, frozenset()) - gone - wanted
        if users:
            names = ", ".join(sorted(address.name for address in users))
            message = f"{item.address} cannot be pruned: used by subscription {names}"
            yield Refusal("in_use", message, item.version)


def _declarations(
    documents: Sequence[Document], known: Known, minted: Sequence[Minted], intent: Intent
) -> Iterator[tuple[Item | None, Command]]:
    for document, fresh in zip(documents, minted, strict=True):
        address = address_of(document)
        text: dict[str, Any] = {
            "address": address,
            "spec": document.canonical(),
            "labels": dict(document.metadata.labels),
            "id": fresh.id,
            "expected_version": document.metadata.version,
            "revive": intent.revive,
        }
        if address.kind == "Subscription":
            command: Command = subscription.Declare(**text, actor=intent.actor, reason=intent.reason)
        else:
            token = fresh.token_sha256 if address.kind == "Endpoint" else None
            command = declared.Declare(**text, token_sha256=token)
        yield known.items.get(address), command


def _deletions(doomed: Sequence[Item], intent: Intent) -> Iterator[tuple[Item, Command]]:
    reason = intent.reason or "pruned: not in the applied documents"
    for item in sorted(doomed, key=lambda item: (_PRUNE_ORDER.index(item.address.kind), item.address)):
        if item.address.kind == "Subscription":
            yield item, subscription.Move(item.address, "delete", intent.actor, reason)
        else:
            yield item, declared.Withdraw(item.address)


def step(before: Item | None, command: Command, intent: Intent) -> Step | Refusal:
    """What one command would do to its object."""
    answer = decide(before, command)
    if isinstance(answer, Refusal):
        return answer
    address = command.address
    events = record(
        answer,
        tenant=address.tenant,
        stream=address.stream,
        revision=before.revision if before else 0,
        actor=intent.actor,
        reason=intent.reason,
        recorded=intent.at,
    )
    after = fold(address, events, before)
    if after is None:
        return Refusal("not_found", f"{address} does not exist")
    return Step(_change(before, after, events), before, after, events)


def _change(before: Item | None, after: Item, events: Sequence[RecordedEvent]) -> Change:
    if not events:
        return "unchanged"
    if not after.live:
        return "deleted"
    return "updated" if before and before.live else "created"
