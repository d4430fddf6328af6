"""Events that agents emit: written to the outbox as envelopes whose origin, actor and genealogy are ours to set."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sereno.envelope import dedup_key
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from sereno.envelope.genealogy import Genealogy, caused_by
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.envelope.receipt import Receipt, receive
from sereno.execution_plane.platform_events import outgoing
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.emission import Emission
from sereno.mailbox.engine import outbox

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
        await outbox.append(conn, SCHEMA, outgoing(envelopes))
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
            traceparent=emission.traceparent,
        ),
    )


def _genealogy(cause: Any) -> Genealogy:
    own = str(cause.get("receiptid") or cause.get("id"))
    return Genealogy(
        str(cause.get("correlationid") or own), cause.get("causationid"), int(cause.get("hops") or 1)
    )
