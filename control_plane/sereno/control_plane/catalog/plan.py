"""What applying documents would do to the catalog: every step, or everything that stands against it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sereno.control_plane.catalog import declared, subscription
from sereno.control_plane.catalog.decider import Command, decide, fold
from sereno.control_plane.catalog.event import RecordedEvent, record
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.judging import Judge, Verdict, judged
from sereno.control_plane.catalog.observing import calls_not_allowed
from sereno.control_plane.catalog.reference import address_of, missing
from sereno.control_plane.catalog.refusal import Refusal, Refusals
from sereno.subscriptions import schedule
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Fault, Faults
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import SubscriptionSpec

Change = Literal["created", "updated", "unchanged", "deleted", "pending"]
# What refers to others goes before what others refer to.
_PRUNE_ORDER = ("Subscription", "Endpoint", "Connector", "Grant", "Agent")


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
    `prunable` what carries the label to prune; `dependents` who refers to each of these; `connectors` what those in use say.
    """

    items: Mapping[Address, Item]
    live: frozenset[Address]
    prunable: tuple[Item, ...] = ()
    dependents: Mapping[Address, frozenset[Address]] | None = None
    judge: Judge | None = None
    connectors: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)

    def doomed(self, wanted: Collection[Address]) -> list[Item]:
        """What pruning removes."""
        return [item for item in self.prunable if item.address not in wanted]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The text that a document asks for."""

    spec: Mapping[str, Any]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Step:
    """One object of the plan: before, after, and the events between.

    `asks` are the reasons why it waits for a person, with what was asked for in `wanted` where that is not in force yet.
    """

    change: Change
    before: Item | None
    after: Item
    events: tuple[RecordedEvent, ...]
    asks: tuple[str, ...] = ()
    quorum: int = 1
    wanted: Wanted | None = None


def plan(
    documents: Sequence[Document], known: Known, minted: Sequence[Minted], intent: Intent
) -> tuple[Step, ...] | Faults | Refusals:
    """The steps in the documents' order and then the deletions; or all faults, else all refusals."""
    wanted = {address_of(document) for document in documents}
    doomed = known.doomed(wanted)
    existing = (known.live | wanted) - {item.address for item in doomed}
    faults = Faults.of(
        [
            *missing(documents, existing),
            *calls_not_allowed(documents, known.connectors),
            *_over(documents, known, intent.at),
        ]
    )
    if faults:
        return faults
    verdicts, refusals = _judged(documents, known, doomed)
    refusals += _in_use(doomed, known, wanted)
    answers = [
        *_declarations(documents, known, minted, intent, verdicts),
        *(step(before, command, intent) for before, command in _deletions(doomed, intent)),
    ]
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


def _judged(
    documents: Sequence[Document], known: Known, doomed: Sequence[Item]
) -> tuple[Mapping[Address, Verdict], list[Refusal]]:
    if known.judge is None:
        return {}, []
    return judged(known.judge, documents, known.items, doomed)


def _declarations(
    documents: Sequence[Document],
    known: Known,
    minted: Sequence[Minted],
    intent: Intent,
    verdicts: Mapping[Address, Verdict],
) -> Iterator[Step | Refusal]:
    for document, fresh in zip(documents, minted, strict=True):
        address = address_of(document)
        before, verdict = known.items.get(address), verdicts.get(address)
        wanted = Wanted(document.canonical(), dict(document.metadata.labels))
        command = _declaration(document, wanted, fresh, intent, pending=bool(verdict and verdict.asks))
        yield _asking(step(before, command, intent), before, wanted, verdict)


def _asking(
    answer: Step | Refusal, before: Item | None, wanted: Wanted, verdict: Verdict | None
) -> Step | Refusal:
    """What waits for a person: a new object is born so; of an edit only the request is kept."""
    if isinstance(answer, Refusal) or verdict is None or not verdict.asks:
        return answer
    if before is not None and not before.live:
        return Refusal(
            "forbidden", f"{before.address} was deleted; only a person with the right to it revives it"
        )
    if before is None or before.state in {State.PENDING_APPROVAL, State.REJECTED}:
        return replace(answer, asks=verdict.asks, quorum=verdict.quorum, wanted=wanted)
    return Step("pending", before, before, (), verdict.asks, verdict.quorum, wanted)


def _declaration(
    document: Document, wanted: Wanted, fresh: Minted, intent: Intent, *, pending: bool
) -> Command:
    address = address_of(document)
    text: dict[str, Any] = {
        "address": address,
        "spec": wanted.spec,
        "labels": wanted.labels,
        "id": fresh.id,
        "expected_version": document.metadata.version,
        "revive": intent.revive,
        "pending": pending,
    }
    if address.kind == "Subscription":
        return subscription.Declare(**text, actor=intent.actor, reason=intent.reason)
    return declared.Declare(**text, token_sha256=fresh.token_sha256 if address.kind == "Endpoint" else None)


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
