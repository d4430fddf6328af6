"""The delivering transaction: lock, load, decide, write; everything a batch of arrivals causes, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.pipeline import store
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.round import Decided, Setting, decide, reports
from sereno.execution_plane.pipeline.wake_up import message_of
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine import faults, outbox
from sereno.mailbox.engine.bus import report_subject
from sereno.mailbox.message import Message
from sereno.subscriptions import report

PLANE = "execution"


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one transaction did: the arrivals that it decided, and the messages that became claimable."""

    decided: Sequence[Decided]
    messages: Sequence[Message]


async def deliver(
    conn: AnyConnection, arrivals: Sequence[Arrival], policy_valid_until: Mapping[str, datetime]
) -> Delivered:
    """Decide the arrivals that no committed transaction decided, inside the caller's transaction.

    Locks are taken in the one order of the plane: the stop's key, subscription state, then bodies and keys, then
    messages, then logs.
    """
    stops = await stop.scopes(conn, {a.envelope.tenantid for a in arrivals})
    keys = {(a.envelope.tenantid, match.subscription.name) for a in arrivals for match in a.matches}
    memories = await store.lock_state(conn, keys)
    known = await store.decided_receipts(conn, arrivals)
    fresh = [arrival for arrival in arrivals if arrival.envelope.receiptid not in known]
    if not fresh:
        return Delivered((), ())
    taken = await store.take_bodies(conn, fresh)
    ledger = Ledger(
        occurrences=await store.load_occurrences(conn, fresh),
        bodies=await store.load_bodies(conn, taken),
        memories=memories,
        stops=tuple(stops),
        watches_objects=False,
    )
    setting = Setting(
        await store.database_clock(conn), policy_valid_until, await store.load_causes(conn, fresh)
    )
    decided = decide(fresh, ledger, setting)
    faults.point("pipeline.after_decide")
    passages = [passage for item in decided for passage in item.passages]
    await store.write_state(conn, ledger.memories)
    await store.settle_bodies(conn, taken, ledger)
    await store.write_occurrences(conn, passages, ledger)
    messages = _messages(decided)
    await deposit(conn, messages)
    await store.write_receipts(conn, decided, setting.database)
    await store.write_verdicts(conn, passages, setting.database)
    await store.write_due_instants(conn, decided)
    await _report(conn, decided, setting.database)
    return Delivered(decided, messages)


def _messages(decided: Sequence[Decided]) -> list[Message]:
    return [
        message_of(passage, item.arrival.attributes)
        for item in decided
        for passage in item.passages
        if passage.decided.outcome == "delivered"
    ]


async def _report(conn: AnyConnection, decided: Sequence[Decided], at: datetime) -> None:
    items = [
        outbox.Outgoing(report_subject(PLANE, told.tenant), told.tenant, report.dumps(told))
        for told in reports(decided, at)
    ]
    await outbox.append(conn, PLANE, items)
