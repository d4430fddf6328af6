"""The flusher: batches that are due become messages, by the time of the database."""

import asyncio
import time
from collections.abc import Sequence
from uuid import UUID

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.changes import Close
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline import (
    commit,
    guard_changes,
    guard_state,
    meters,
    quarantine,
    store,
    traced,
)
from sereno.execution_plane.pipeline.columns import columns
from sereno.execution_plane.pipeline.delivery import Clock
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.resolution import Resolution
from sereno.execution_plane.pipeline.round import Setting
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import faults, queries
from sereno.mailbox.engine.idling import Idling
from sereno.mailbox.engine.logs import logger, named
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.message import Message
from sereno.mailbox.wake import Wake, mailboxes

IDLE_SECONDS = (0.05, 0.25)
PAGE = 200
REVOKED = "revoked"

_SQL = queries.load("sereno.execution_plane.pipeline", "flushing.sql")
_log = logger("flushing")

Key = tuple[str, UUID, str]
"""Tenant, batch, subscription."""


class Flusher:
    """Asks each batch that is due; level-triggered, so what a killed one left is asked by the next. Any number may run."""

    def __init__(
        self, pool: AnyPool, catalog: Catalog, wake: Wake, directory: Directory | None = None
    ) -> None:
        self._pool = pool
        self._catalog = catalog
        self._directory = directory or Directory(catalog)
        self._wake = wake

    async def run(self, stopping: asyncio.Event) -> None:
        """Flush until told to stop; while the database is away it is tried again."""
        idle = Idling(*IDLE_SECONDS)
        while not stopping.is_set():
            try:
                while found := await self.look():
                    idle.worked()
                    if found < PAGE:
                        break
            except DATABASE_FAULTS as fault:
                _log.warning("flush_retry", error=type(fault).__name__)
            await idle.pause(stopping)

    async def look(self) -> int:
        """Ask a page of batches that are due; answers how many were."""
        changed = self._directory.take_changed()
        if changed:
            await self._pool.execute(_SQL["ask_again"], *columns(sorted(changed), 2))
        rows = await self._pool.fetch(_SQL["due"], PAGE)
        if rows:
            await self._catalog.refresh(self._pool)
            await self._settle([(row["tenant_id"], row["id"], row["subscription"]) for row in rows])
        return len(rows)

    async def _settle(self, keys: Sequence[Key]) -> None:
        """In one transaction; when the data of one is at fault, in as few as set it apart."""
        began = time.time_ns()
        try:
            async with self._pool.acquire() as conn, conn.transaction():
                messages = await flush_batches(conn, keys, self._directory)
        except Exception as fault:
            if not quarantine.is_fault_of_data(fault):
                raise
            if len(keys) == 1:
                tenant, batch, name = keys[0]
                about = named(tenant=tenant, subscription=name)
                _log.error("not_flushed", batch=str(batch), error=type(fault).__name__, **about)
                await _postpone(self._pool, keys[0])
                return
        else:
            faults.point("flushing.after_commit")
            meters.deposited(messages)
            traced.woken(messages, began)
            await self._wake.publish(mailboxes(messages))
            return
        middle = len(keys) // 2
        await self._settle(keys[:middle])
        await self._settle(keys[middle:])


async def _postpone(pool: AnyPool, key: Key) -> None:
    async with pool.acquire() as conn:
        at = await store.database_clock(conn)
        await guard_changes.postpone(conn, {(key[0], key[1]): at + commit.FROZEN})


async def flush_batches(
    conn: AnyConnection, keys: Sequence[Key], directory: Directory, clock: Clock = store.database_clock
) -> list[Message]:
    """Ask these batches what becomes of them, in the caller's transaction; answers the messages."""
    stops = await stop.scopes(conn, {tenant for tenant, _, _ in keys})
    memories = await guard_state.lock_state(conn, {(tenant, name) for tenant, _, name in keys})
    open_ones = await guard_state.batches_by_id(conn, [(tenant, identity) for tenant, identity, _ in keys])
    asked = [(batch, directory.subscription(batch.tenant, batch.subscription)) for batch in open_ones]
    known = [(batch, policy) for batch, policy in asked if policy is not None]
    ledger = Ledger(
        memories=memories,
        suspensions=await guard_state.suspensions(conn, memories.keys()),
        open_work=await guard_state.open_work(conn, ((policy, batch.serial_key) for batch, policy in known)),
        stops=tuple(stops),
    )
    at = await clock(conn)
    ledger.budgets = await guard_state.budgets(conn, (policy for _, policy in known), at)
    done = Resolution(ledger, Setting(at, directory.policy_valid_until()))
    _ask(done, known)
    faults.point("flushing.after_decide")
    await commit.write_guards(conn, done)
    messages = await commit.deposit_messages(conn, done)
    gone = [batch for batch, policy in asked if policy is None]
    await _drop(conn, done, gone)
    await commit.tell(conn, done)
    return messages


def _ask(done: Resolution, known: Sequence[tuple[OpenBatch, Subscription]]) -> None:
    for batch, _ in known:
        if batch.sealed:
            done.ledger.sealed[batch.id] = batch
        else:
            done.ledger.put(batch)
    for batch, policy in known:
        done.flush(batch, policy)


async def _drop(conn: AnyConnection, done: Resolution, gone: Sequence[OpenBatch]) -> None:
    """Those of subscriptions that were taken away, and those that their own answer drops."""
    at = done.setting.database
    closed = [Close(batch, None, REVOKED) for batch in gone]
    await guard_changes.close(conn, closed, at)
    rows = [*commit.dropped(done.flushed), *((batch.tenant, batch.id, "rights", REVOKED) for batch in gone)]
    await commit.drop_items(conn, rows, at)
