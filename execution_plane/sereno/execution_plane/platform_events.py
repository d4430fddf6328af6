"""Events of the platform itself: envelopes about runs, messages, suspensions and stops, and their way to the ingress."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import groupby

from pydantic import BaseModel

from sereno.envelope import dedup_key
from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from sereno.envelope.genealogy import Genealogy
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.envelope.receipt import Receipt, receive
from sereno.envelope.types import CONTENT_SUSPICIOUS, SUBSCRIPTION_SUSPENDED
from sereno.execution_plane.gateway.group_commit import MAX_BYTES, MAX_EVENTS
from sereno.execution_plane.guards.suspension import Suspension
from sereno.execution_plane.platform_data import ContentSuspicious, SubscriptionSuspended
from sereno.mailbox.engine import bus, outbox

ORIGIN = "platform"


def envelope_of(
    kind: str,
    data: BaseModel,
    *,
    tenant: str,
    thing: str,
    state: str,
    subject: str,
    at: datetime,
    genealogy: Genealogy | None = None,
) -> Envelope:
    """The event that a thing of the platform entered a state; its receipt follows from both, so it is one however often
    it is told.
    """
    digest = sha256(f"{kind}\0{tenant}\0{thing}\0{state}".encode()).digest()
    receiptid = str(uuid7(max(0, int(at.timestamp() * 1000)), digest[:RANDOM_BYTES]))
    caused = genealogy or Genealogy(receiptid, None, 1)
    event = Event(
        id=f"{thing}/{state}",
        source=f"/tenants/{tenant}",
        type=kind,
        time=at,
        subject=subject,
        datacontenttype="application/json",
        data=data.model_dump(mode="json", exclude_none=True),
    )
    return receive(
        event,
        Receipt(
            receiptid=receiptid,
            tenantid=tenant,
            origin=ORIGIN,
            recordedtime=at,
            dedupkey=dedup_key.of_state(thing, state),
            trust="platform",
            correlationid=caused.correlationid,
            causationid=caused.causationid,
            hops=caused.hops,
        ),
    )


def suspicious(
    *, tenant: str, subscription: str, receipt: str, signs: Sequence[str], held: bool, at: datetime
) -> Envelope:
    """The event that content reads like an instruction to a model; caused by the event that holds it."""
    data = ContentSuspicious(subscription=subscription, receipt=receipt, signs=tuple(signs), held=held)
    return envelope_of(
        CONTENT_SUSPICIOUS,
        data,
        tenant=tenant,
        thing=f"{receipt}/{subscription}",
        state="suspicious",
        subject=subscription,
        at=at,
    )


def suspended(one: Suspension, sentence: str) -> Envelope:
    """The event that a suspension began."""
    data = SubscriptionSuspended(
        suspension=one.id,
        subscription=one.subscription,
        cause=one.cause,
        subject=one.subject,
        sentence=sentence,
        receipt=one.receiptid,
        at=one.at,
    )
    return envelope_of(
        SUBSCRIPTION_SUSPENDED,
        data,
        tenant=one.tenant,
        thing=f"suspension/{one.id}",
        state="begun",
        subject=one.subscription,
        at=one.at,
    )


def outgoing(envelopes: Iterable[Envelope]) -> list[outbox.Outgoing]:
    """Rows of the outbox that lead these envelopes to the ingress."""
    ordered = sorted(envelopes, key=lambda envelope: envelope.tenantid)
    return [
        outbox.Outgoing(bus.ingress_subject(tenant), tenant, dumps_batch(batch))
        for tenant, group in groupby(ordered, key=lambda envelope: envelope.tenantid)
        for batch in _batches(group)
    ]


def _batches(envelopes: Iterable[Envelope]) -> Iterator[Sequence[Envelope]]:
    """As many at a time as one message of the ingress may hold (mechanics 6)."""
    batch: list[Envelope] = []
    size = 0
    for envelope in envelopes:
        own = len(dumps_batch([envelope]))
        if batch and (size + own > MAX_BYTES or len(batch) == MAX_EVENTS):
            yield batch
            batch, size = [], 0
        batch.append(envelope)
        size += own
    if batch:
        yield batch
