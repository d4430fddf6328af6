"""Asking for a person's word, and what their word leads to."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sereno.control_plane import recording
from sereno.control_plane.announcing import resolution
from sereno.control_plane.catalog import approval as deciding
from sereno.control_plane.catalog import declared, subscription
from sereno.control_plane.catalog.approval import Approval, Ask, Supersede, Word
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.decider import Command, fold
from sereno.control_plane.catalog.event import NewEvent, record
from sereno.control_plane.catalog.item import Item
from sereno.control_plane.catalog.judging import refusal as forbidden
from sereno.control_plane.catalog.plan import Intent, Step, step
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.committing import commit
from sereno.control_plane.minting import new_id
from sereno.control_plane.store import approvals, event_store, heads, rights
from sereno.control_plane.store.engine import driver
from sereno.control_plane.store.event_store import Append, StreamId, current_versions, read_streams
from sereno.mailbox.engine import outbox
from sereno.mailbox.engine.telemetry import counter
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.policy.authority import may, of_approval
from sereno.subscriptions.policy.remedy import remedy, sentence

_resolved = counter("sereno.approvals.resolved")
_answers = counter("sereno.answers.given")


@dataclass(frozen=True, slots=True)
class Resolved:
    """An approval after a person's word, and the manifest version from which it counts."""

    approval: Approval
    manifest: int


@dataclass(frozen=True, slots=True)
class Said:
    """A person's answer: whether they agree, to which digest, and what they say besides."""

    approves: bool
    digest: str
    reason: str | None = None


async def ask(
    connection: AsyncConnection, steps: Sequence[Step], *, by: Caller, at: datetime
) -> Refusal | None:
    """Open an approval for each step that waits for a person, in the transaction of the steps.

    The same request again changes nothing; one that was rejected is refused, with the rejection.
    """
    for one in steps:
        if one.asks:
            refused = await _ask(connection, one, by, at)
            if refused is not None:
                return refused
        elif one.events and one.before is not None:
            for standing in await approvals.of_subject(connection, one.after.address, "pending"):
                events = deciding.decide(standing, Supersede("its subject was changed meanwhile"))
                await _write(connection, standing, events, by.name, at)
    return None


async def _ask(connection: AsyncConnection, one: Step, by: Caller, at: datetime) -> Refusal | None:
    subject, wanted = one.after.address, one.wanted
    if wanted is None:
        raise AssertionError("what waits says what it asks for")
    document = deciding.canonical(subject, wanted.spec, wanted.labels)
    digest = deciding.digest(document)
    rejected = await approvals.rejection(connection, subject.tenant, by.name, digest)
    if rejected is not None:
        said = f": {rejected.reason}" if rejected.reason else ""
        message = f"{rejected.resolved_by} rejected exactly this (approval {rejected.id}){said}; ask for something else"
        return Refusal("rejected", message)
    for standing in await approvals.of_subject(connection, subject, "pending"):
        if standing.digest == digest and standing.asked_by == by.name and standing.now(at) == "pending":
            return None
        events = deciding.decide(standing, Supersede("something else was asked for in its place"))
        await _write(connection, standing, events, by.name, at)
    # A series that begins with its first decision hides that decision from whoever looks at its rise.
    for outcome in ("approved", "denied"):
        _resolved.add(0, {"tenant": subject.tenant, "outcome": outcome})
    asked = Ask(
        id=new_id(at),
        subject=subject,
        document=document,
        asked_by=by.name,
        reasons=one.asks,
        quorum=one.quorum,
        base_version=one.before.version if one.before else 0,
        expires=at + deciding.VALIDITY,
    )
    await approvals.write(
        connection, subject.tenant, None, asked.id, deciding.asked(asked), actor=by.name, at=at
    )
    return None


async def _write(
    connection: AsyncConnection,
    before: Approval,
    events: tuple[NewEvent, ...] | Refusal,
    actor: str,
    at: datetime,
) -> Approval | Refusal:
    if isinstance(events, Refusal) or not events:
        return events if isinstance(events, Refusal) else before
    return await approvals.write(
        connection, before.subject.tenant, before, before.id, events, actor=actor, at=at
    )


async def resolve(
    engine: AsyncEngine, tenant: str, identifier: UUID, said: Said, *, by: Caller, at: datetime
) -> Resolved | Refusal:
    """Take a person's word on an approval: what it asks for is in force once enough have released it."""
    async with engine.connect() as connection:
        await heads.lock(connection, [tenant])
        known = await approvals.one(connection, tenant, identifier)
        if known is None:
            return Refusal("not_found", f"there is no approval {identifier} in tenant {tenant}")
        refused = await _permitted(connection, tenant, known, by, at)
        if refused is not None:
            return refused
        word = Word(by.name, said.approves, said.digest, at, said.reason)
        after = await _write(connection, known, deciding.decide(known, word), by.name, at)
        if isinstance(after, Refusal):
            return after
        done = await _carry_out(connection, after, by, at)
        if done is not None:
            return done
        versions = await heads.versions(connection, [tenant])
        await connection.commit()
    if after.state != "pending":
        _resolved.add(1, {"tenant": tenant, "outcome": after.state})
    return Resolved(after, versions[tenant])


async def _permitted(
    connection: AsyncConnection, tenant: str, known: Approval, by: Caller, at: datetime
) -> Refusal | None:
    facts, asking = await rights.facts(connection, tenant), by.asking(tenant, at)
    resource = of_approval(str(known.id), known.asked_by, known.subject.kind.lower())
    decision = may(facts, asking, "approve", resource)
    if decision.allowed:
        return None
    what = f"decide on what {known.asked_by} asks for"
    return forbidden(sentence(asking, what, decision, remedy(facts, asking, "approve", decision)), decision)


async def _carry_out(
    connection: AsyncConnection, approval: Approval, by: Caller, at: datetime
) -> Refusal | None:
    if approval.state == "pending":
        return None
    subject = approval.subject
    stream = StreamId(subject.tenant, subject.stream)
    item = fold(subject, (await read_streams(connection, [stream]))[stream])
    if item is None:
        return Refusal("not_found", f"{subject} does not exist any more")
    command = _command(approval, item, by)
    if isinstance(command, Refusal):
        return command
    if command is not None:
        answer = step(item, command, Intent(by.name, at, approval.reason))
        if isinstance(answer, Refusal):
            return answer
        refused = await commit(connection, [answer], actor=by.name, reason=approval.reason, at=at)
        if refused is not None:
            return refused
    await outbox.append(await driver(connection), "control", [resolution(approval, at)])
    return None


def _command(approval: Approval, item: Item, by: Caller) -> Command | Refusal | None:
    """What the word does to the object: one born pending begins to live or is rejected, an edit is made or is not."""
    waits = item.state is State.PENDING_APPROVAL
    reason = approval.reason or "approved"
    if approval.state == "denied":
        if not waits:
            return None
        if item.address.kind == "Subscription":
            return subscription.Move(item.address, "reject", by.name, reason)
        return declared.Withdraw(item.address)
    if item.version != approval.base_version and not waits:
        message = f"{item.address} has version {item.version} now, and this was asked for at {approval.base_version}"
        return Refusal("version_conflict", message, item.version)
    if waits and item.address.kind == "Subscription":
        if deciding.canonical(item.address, item.spec, item.labels) != approval.document:
            return Refusal(
                "version_conflict", f"{item.address} has another text now than was asked for", item.version
            )
        return subscription.Move(item.address, "approve", by.name, reason)
    document: dict[str, Any] = orjson.loads(approval.document)
    text: dict[str, Any] = {
        "address": item.address,
        "spec": document["spec"],
        "labels": document["metadata"]["labels"],
        "id": item.id,
    }
    if item.address.kind == "Subscription":
        return subscription.Declare(**text, actor=by.name, reason=reason)
    return declared.Declare(**text)


async def answer(
    engine: AsyncEngine, tenant: str, message: str, said: dict[str, Any], *, by: Caller, at: datetime
) -> Refusal | None:
    """Answer parked work: the answer travels as a platform event, and the message goes on with it, once."""
    async with engine.connect() as connection:
        await heads.lock(connection, [tenant])
        facts, asking = await rights.facts(connection, tenant), by.asking(tenant, at)
        decision = may(facts, asking, "approve", of_approval(message, "agent:unknown", "message"))
        if not decision.allowed:
            command = remedy(facts, asking, "approve", decision)
            return forbidden(sentence(asking, f"answer {message}", decision, command), decision)
        stream = StreamId(tenant, f"answer/{message}")
        revision = (await current_versions(connection, [stream])).get(stream, 0)
        event = NewEvent("answer.given", {"message": message, **said})
        conflict = await event_store.append(
            connection, [Append(stream, revision, (event,))], actor=by.name, recorded=at
        )
        if conflict is not None:
            return Refusal("version_conflict", f"{message} was answered by another at the same time")
        outgoing = resolution(None, at, tenant=tenant, message=message, said={**said, "by": by.name})
        await outbox.append(await driver(connection), "control", [outgoing])
        recorded = record(
            [event],
            tenant=tenant,
            stream=stream.stream,
            revision=revision,
            actor=by.name,
            reason=None,
            recorded=at,
        )
        await recording.chain(connection, recorded)
        await connection.commit()
    _answers.add(1, {"tenant": tenant, "outcome": str(said.get("outcome"))})
    return None
