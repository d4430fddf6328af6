"""What a test observes: events that a person gives, or those that came last from the subscription's source."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from sereno.envelope.decode import loads_envelope
from sereno.envelope.encode import dumps, flat, rfc3339
from sereno.envelope.envelope import Envelope, EnvelopeFault
from sereno.envelope.json_format import event_of_object
from sereno.envelope.rejection import Rejected
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.matcher import miss
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.asking import Refused
from sereno.subscriptions.filters import FilterFault

SQL = queries.load("sereno.execution_plane.evaluator", "testing.sql")
MOST_LOOKED_AT = 500
MAX_EVENT_BYTES = 65_536
_OURS = {"trust": "untrusted", "hops": 1}


class Observed(NamedTuple):
    """One event as flat JSON, its receipt where it was received, and why it does not concern the subscription, if so."""

    event: Mapping[str, Any]
    receipt: str | None = None
    misses: str | None = None

    @property
    def name(self) -> tuple[str, str]:
        """Its id and its receipt."""
        return str(self.event["id"]), self.receipt or str(self.event["receiptid"])


def given(policy: Subscription, written: Sequence[Mapping[str, Any]], at: datetime) -> list[Observed]:
    """The events that a person gives, as if they had been received at `at`. Raises `Refused` naming what is wrong."""
    return [_given(policy, number, each, at) for number, each in enumerate(written, start=1)]


def _given(policy: Subscription, number: int, written: Mapping[str, Any], at: datetime) -> Observed:
    where = f"events[{number - 1}]"
    event = event_of_object(written, len(orjson.dumps(written)), MAX_EVENT_BYTES)
    if isinstance(event, Rejected):
        raise _bad(f"{where}: {event.field}: {event.message}" if event.field else f"{where}: {event.message}")
    if "dataref" in written:
        raise _bad(
            f"{where}: dataref: expected the data itself; a reference is read of received events alone"
        )
    # In the form in which it would be stored: a time may be written in several ways.
    plain = flat(event)
    receipt = str(plain.get("receiptid") or f"given-{number}")
    defaults = {
        **_OURS,
        "recordedtime": plain.get("time") or rfc3339(at),
        "origin": policy.origin,
        "dedupkey": receipt,
        "correlationid": receipt,
    }
    document = {**defaults, **plain, "receiptid": receipt, "tenantid": policy.tenant}
    try:
        envelope = loads_envelope(document)
        stored = orjson.loads(dumps(envelope))
    except EnvelopeFault as fault:
        raise _bad(f"{where}: {fault}") from None
    return Observed(stored, None, _misses(policy, envelope, stored))


async def received(pool: AnyPool, policy: Subscription, most: int) -> list[Observed]:
    """The events that concern the subscription among those that came last from its source, newest first."""
    hears_agents = policy.origin == "platform"
    rows = await pool.fetch(SQL["received"], policy.tenant, policy.origin, hears_agents, MOST_LOOKED_AT)
    found = []
    for row in rows:
        envelope = loads_envelope(row["envelope"])
        if _misses(policy, envelope, row["envelope"]) is None:
            found.append(Observed(row["envelope"], str(row["receiptid"])))
        if len(found) == most:
            break
    return found


def _misses(policy: Subscription, envelope: Envelope, attributes: Mapping[str, Any]) -> str | None:
    try:
        found = miss(policy, envelope, attributes)
    except FilterFault as fault:
        return str(fault)
    return None if found is None else f"{found.part}: expected {found.expected}; found {found.found}"


def _bad(detail: str) -> Refused:
    return Refused(422, "bad_input", detail)
