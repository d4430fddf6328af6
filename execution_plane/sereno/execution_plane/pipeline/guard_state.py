"""Guard state: loads the rows that bear on a round into a ledger, each kind with one statement, in the plane's lock order."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from asyncpg import Record

from sereno.execution_plane.guards import storm
from sereno.execution_plane.guards.account import Account
from sereno.execution_plane.guards.activation import Activation
from sereno.execution_plane.guards.batch import BatchKey, OpenBatch
from sereno.execution_plane.guards.changes import WorkKey
from sereno.execution_plane.guards.patience import Patience
from sereno.execution_plane.guards.state import Memory, SubjectKey, SubjectMemory, SubscriptionKey
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.suspension import Suspension
from sereno.execution_plane.pipeline.columns import Row, ancestors_of, columns, recent_of
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.execution_plane.pipeline", "guard_state.sql")

Concerned = Collection[tuple[Activation, Subscription]]
"""The activations of a round, each with the subscription that it is on its way to."""


async def lock_state(conn: AnyConnection, keys: Collection[SubscriptionKey]) -> dict[SubscriptionKey, Memory]:
    """What each subscription remembers, its row locked until the transaction ends; rows are made where missing."""
    if not keys:
        return {}
    turned = columns(sorted(keys), 2)
    await conn.execute(_SQL["ensure_state"], *turned)
    rows = await conn.fetch(_SQL["lock_state"], *turned)
    return {(row["tenant_id"], row["subscription"]): _memory(row) for row in rows}


def _memory(row: Record) -> Memory:
    return Memory(
        row["last_recorded"], row["last_delivered_at"], row["deliveries"], recent_of(row["arrivals"])
    )


async def suspensions(
    conn: AnyConnection, keys: Collection[SubscriptionKey]
) -> dict[SubscriptionKey, tuple[Suspension, ...]]:
    """The open suspensions of these subscriptions, the oldest first."""
    found: dict[SubscriptionKey, tuple[Suspension, ...]] = {}
    for row in await _fetch(conn, "suspensions", keys, 2):
        key = row["tenant_id"], row["subscription"]
        found[key] = (*found.get(key, ()), suspension_of(row))
    return found


def suspension_of(row: Record) -> Suspension:
    """A suspension as it was written."""
    return Suspension(
        row["id"],
        row["tenant_id"],
        row["subscription"],
        row["cause"],
        row["at"],
        row["receiptid"],
        row["numbers"],
        row["subject"],
    )


async def subjects(conn: AnyConnection, concerned: Concerned) -> dict[SubjectKey, SubjectMemory]:
    """What is remembered of the objects that these events are about, where anything is."""
    keys = {
        (policy.tenant, policy.name, activation.envelope.subject)
        for activation, policy in concerned
        if activation.envelope.subject is not None and storm.watches(activation, policy)
    }
    return {
        (row["tenant_id"], row["subscription"], row["subject"]): SubjectMemory(
            recent_of(row["arrivals"]), row["actor"], row["actor_before"], recent_of(row["turns"])
        )
        for row in await _fetch(conn, "subjects", keys, 3)
    }


async def batches(conn: AnyConnection, concerned: Concerned) -> list[OpenBatch]:
    """The batches that these events may join."""
    keys: set[BatchKey] = {
        (policy.tenant, policy.name, activation.batch_key or "")
        for activation, policy in concerned
        if may_batch(policy)
    }
    return [batch_of(row) for row in await _fetch(conn, "open_batches", keys, 3)]


async def batches_by_id(conn: AnyConnection, keys: Collection[tuple[str, UUID]]) -> list[OpenBatch]:
    """Those of these batches that are not messages yet, locked, by subscription and age."""
    return [batch_of(row) for row in await _fetch(conn, "batches_by_id", keys, 2)]


def may_batch(policy: Subscription) -> bool:
    """Whether any event of this subscription can be merged."""
    if policy.batch is not None or policy.when_busy == "merge":
        return True
    return any(pause is not None and pause.then == "batch" for pause in (policy.cooldown, policy.quiet))


def batch_of(row: Record) -> OpenBatch:
    """A batch as it was written."""
    return OpenBatch(
        row["id"],
        row["tenant_id"],
        row["subscription"],
        row["key"],
        row["opened"],
        row["items"],
        row["size"],
        ancestors_of(row["ancestors"]),
        row["sealed"],
        row["serial_key"],
    )


async def open_work(
    conn: AnyConnection, asked: Iterable[tuple[Subscription, str | None]]
) -> dict[WorkKey, int]:
    """Of which of these subscriptions and serial keys a message is not closed; those that queue do not ask."""
    keys = {
        (policy.tenant, policy.name, serial_key or "")
        for policy, serial_key in asked
        if policy.when_busy != "queue"
    }
    return {
        (row["tenant_id"], row["subscription"], row["serial_key"]): 1
        for row in await _fetch(conn, "open_work", keys, 3)
    }


async def budgets(
    conn: AnyConnection, policies: Iterable[Subscription], at: datetime
) -> dict[Account, Decimal]:
    """What is used of every budget that these subscriptions count against in the periods around `at`, locked."""
    of = {id(policy.budgets): policy.budgets for policy in policies if policy.budgets is not None}
    return await lock_budgets(conn, {entry.account for one in of.values() for entry in one.entries(at)})


async def lock_budgets(conn: AnyConnection, accounts: Collection[Account]) -> dict[Account, Decimal]:
    """What is used of these accounts, their rows locked in key order; they are made where missing."""
    if not accounts:
        return {}
    turned = columns(accounts, 6)
    await conn.execute(_SQL["ensure_budgets"], *turned)
    rows = await conn.fetch(_SQL["lock_budgets"], *turned)
    return {Account(*tuple(row)[:6]): row["used"] for row in rows}


async def patience(conn: AnyConnection, keys: Collection[SubscriptionKey]) -> dict[SubscriptionKey, Patience]:
    """What is remembered of the evaluations of these subscriptions."""
    return {
        (row["tenant_id"], row["subscription"]): Patience(
            row["errors"], row["error"], row["unchanged"], row["digest"], row["slow"]
        )
        for row in await _fetch(conn, "patience", keys, 2)
    }


async def _fetch(conn: AnyConnection, name: str, keys: Collection[Row], width: int) -> list[Record]:
    if not keys:
        return []
    rows: list[Record] = await conn.fetch(_SQL[name], *columns(keys, width))
    return rows
