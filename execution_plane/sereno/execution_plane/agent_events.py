"""Events that agents emit: written to the outbox as envelopes whose origin, actor and genealogy are ours to set."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from sereno.envelope import dedup_key
from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from sereno.envelope.genealogy import Genealogy, caused_by
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.envelope.receipt import Receipt, receive
from sereno.execution_plane.gateway.group_commit import MAX_BYTES, MAX_EVENTS
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.emission import Emission
from sereno.mailbox.engine import bus, outbox

SCHEMA = "execution"


class AgentEvents:
    """The emitter of this plane: what an agent says enters the ingress through the outbox, in one transaction."""

    def __init__(self, randomness: Callable[[int], bytes]) -> None:
        self._randomness = randomness

    async def emit(self, conn: AnyConnection, emissions: Sequence[Emission]) -> Sequence[UUID]:
        """See `sereno.mailbox.emission.Emitter`."""
        now: datetime = await conn.fetchval("select clock_timestamp()")
        receipts = [uuid7(int(now.timestamp() * 1000), self._randomness(RANDOM_BYTES)) for _ in emissions]
        envelopes = [envelope_of(one, str(rid), now) for one, rid in zip(emissions, receipts, strict=True)]
        await outbox.append(conn, SCHEMA, _outgoing(envelopes))
        return receipts


def envelope_of(emission: Emission, receiptid: str, now: datetime) -> Envelope:
    """The envelope of one emitted event. It is data, not instruction: an agent's word is authenticated, no more."""
    genealogy = caused_by(str(emission.message_id), [_genealogy(cause) for cause in emission.envelopes])
    event = Event(
        id=receiptid,
        source=f"agent/{emission.agent}",
        type=emission.type,
        time=now,
        subject=emission.subject,
        datacontenttype="application/json",
        data=emission.data,
    )
    return receive(
        event,
        Receipt(
            receiptid=receiptid,
            tenantid=emission.tenant,
            origin=f"agent/{emission.agent}",
            recordedtime=now,
            dedupkey=dedup_key.of_event(f"agent/{emission.agent}", receiptid),
            trust="authenticated",
            actor=f"agent:{emission.agent}",
            actorid=f"agent:{emission.agent}",
            onbehalfof=emission.on_behalf_of,
            correlationid=genealogy.correlationid,
            causationid=genealogy.causationid,
            hops=genealogy.hops,
        ),
    )


def _genealogy(cause: Any) -> Genealogy:
    own = str(cause.get("receiptid") or cause.get("id"))
    return Genealogy(
        str(cause.get("correlationid") or own), cause.get("causationid"), int(cause.get("hops") or 1)
    )


def _outgoing(envelopes: Sequence[Envelope]) -> list[outbox.Outgoing]:
    ordered = sorted(envelopes, key=lambda envelope: envelope.tenantid)
    return [
        outbox.Outgoing(bus.ingress_subject(tenant), tenant, dumps_batch(batch))
        for tenant, group in groupby(ordered, key=lambda envelope: envelope.tenantid)
        for batch in _batches(group)
    ]


def _batches(envelopes: Iterable[Envelope]) -> Iterator[list[Envelope]]:
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
