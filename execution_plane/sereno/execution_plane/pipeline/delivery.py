"""The delivering transaction: lock, load, decide, write; everything a batch of arrivals causes, or nothing."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sereno.execution_plane.guards.activation import Entry
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.state import Memory, SubscriptionKey
from sereno.execution_plane.pipeline import commit, guard_state, store
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.resolution import Resolution, concerned, keyed
from sereno.execution_plane.pipeline.round import Decided, Setting
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import faults
from sereno.mailbox.engine.telemetry import counter
from sereno.mailbox.message import Message
from sereno.mailbox.scope import Scope

_deciding = counter("sereno.guard.time")

Clock = Callable[[AnyConnection], Awaitable[datetime]]
"""Reads the clock of the database, once a transaction."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one transaction did: the arrivals that it decided, and the messages that became claimable."""

    decided: Sequence[Decided]
    messages: Sequence[Message]


async def deliver(
    conn: AnyConnection,
    arrivals: Sequence[Arrival],
    policy_valid_until: Mapping[str, datetime],
    clock: Clock = store.database_clock,
) -> Delivered:
    """Decide the arrivals that no committed transaction decided, inside the caller's transaction.

    Locks are taken in the one order of the plane: the stop's key, subscription state, then bodies and keys, then
    budgets, batches, messages, logs.
    """
    stops = await stop.scopes(conn, {a.envelope.tenantid for a in arrivals})
    memories = await guard_state.lock_state(conn, _keys(arrivals))
    decided = await store.decided_receipts(conn, arrivals)
    fresh = keyed(arrival for arrival in arrivals if arrival.envelope.receiptid not in decided)
    if not fresh:
        return Delivered((), ())
    taken = await store.take_bodies(conn, fresh)
    ledger = await load(conn, fresh, memories, stops)
    known = await store.load_occurrences(conn, fresh)
    ledger.occurrences = dict(known)
    ledger.bodies = await store.load_bodies(conn, taken)
    done = await resolve(conn, fresh, ledger, policy_valid_until, clock)
    done.known = known.keys()
    faults.point("pipeline.after_decide")
    await store.settle_bodies(conn, taken, done.ledger)
    await commit.write_guards(conn, done)
    messages = await commit.deposit_messages(conn, done)
    await store.write_receipts(conn, done.decided, done.setting.database)
    await store.write_verdicts(conn, done.passages, done.setting.database)
    await commit.drop_items(conn, commit.dropped(done.flushed), done.setting.database)
    await store.write_due_instants(conn, done.decided)
    await commit.tell(conn, done)
    return Delivered(done.decided, messages)


def _keys(arrivals: Sequence[Arrival]) -> set[SubscriptionKey]:
    return {(a.envelope.tenantid, match.subscription.name) for a in arrivals for match in a.matches}


async def load(
    conn: AnyConnection,
    arrivals: Sequence[Arrival],
    memories: dict[SubscriptionKey, Memory],
    stops: Sequence[Scope],
) -> Ledger:
    """What the guards remember of the subscriptions whose rows are locked, as far as these arrivals bear on it."""
    asked = concerned(arrivals)
    ledger = Ledger(
        memories=memories,
        subjects=await guard_state.subjects(conn, asked),
        suspensions=await guard_state.suspensions(conn, memories.keys()),
        open_work=await guard_state.open_work(conn, ((p, a.serial_key) for a, p in asked)),
        stops=tuple(stops),
    )
    for batch in await guard_state.batches(conn, asked):
        ledger.put(batch)
    return ledger


async def resolve(
    conn: AnyConnection,
    arrivals: Sequence[Arrival],
    ledger: Ledger,
    policy_valid_until: Mapping[str, datetime],
    clock: Clock,
    *,
    entry: Entry = "arrival",
) -> Resolution:
    """Read the clock, lock the budgets of its periods, and decide."""
    causes = await store.load_causes(conn, arrivals)
    at = await clock(conn)
    ledger.budgets = await guard_state.budgets(conn, (p for _, p in concerned(arrivals)), at)
    done = Resolution(ledger, Setting(at, policy_valid_until, causes))
    began = time.perf_counter()
    done.decide(arrivals, entry)
    _deciding.add(time.perf_counter() - began)
    return done
