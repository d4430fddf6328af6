"""The releaser: what was held on its way to a mailbox is decided again once the cause is gone.

The receipt keeps its id, enters again at guard 3 under the subscription as it stands now, and its verdict is rewritten:
its own dedup row is left out, and what its ancestors are has not changed. What was held for a suspension waits until a
person has said whether it is delivered or dropped.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
from asyncpg import Record

from sereno.envelope.decode import loads_envelope
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.guards.suspension import guard_of
from sereno.execution_plane.pipeline import commit, guard_state, meters, quarantine, store
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.columns import Row, as_json, columns
from sereno.execution_plane.pipeline.delivery import Clock, load, resolve
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.matcher import Match
from sereno.execution_plane.pipeline.resolution import Resolution, keyed
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.message import Message
from sereno.mailbox.wake import Wake, mailboxes

INTERVAL_SECONDS = 1.0
PAGE = 500

_SQL = queries.load("sereno.execution_plane.pipeline", "release.sql")
_log = logger("release")

Key = tuple[str, UUID, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """A held receipt that nobody is woken by any more, and why."""

    key: Key
    guard: str
    reason: str
    numbers: dict[str, str | None]


class Releaser:
    """Looks at what is held; level-triggered, so it needs no word of a stop's end. Any number may run."""

    def __init__(
        self,
        pool: "asyncpg.Pool[asyncpg.Record]",
        catalog: Catalog,
        wake: Wake,
        directory: Directory | None = None,
    ) -> None:
        self._pool = pool
        self._catalog = catalog
        self._directory = directory or Directory(catalog)
        self._wake = wake

    async def run(self, stopping: asyncio.Event) -> None:
        """Release until told to stop; while the database is away it is tried again."""
        while not stopping.is_set():
            try:
                while await self.look() == PAGE:
                    pass
            except DATABASE_FAULTS as fault:
                _log.warning("release_retry", error=type(fault).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), INTERVAL_SECONDS)

    async def look(self) -> int:
        """Decide a page of what need not be held any more; answers how many were found."""
        valid = self._directory.policy_valid_until()
        now = datetime.now(UTC)
        tenants = [tenant for tenant, until in valid.items() if until > now]
        rows = await self._pool.fetch(_SQL["releasable"], tenants, PAGE)
        if rows:
            await self._catalog.refresh(self._pool)
            await self._settle([(row["tenant_id"], row["receiptid"], row["subscription"]) for row in rows])
            await self._pool.execute(_SQL["settle_suspensions"])
        return len(rows)

    async def _settle(self, keys: Sequence[Key]) -> None:
        """In one transaction; when the data of one is at fault, in as few as set it apart."""
        try:
            async with self._pool.acquire() as conn, conn.transaction():
                messages = await release(conn, keys, self._directory)
        except Exception as fault:
            if not quarantine.is_fault_of_data(fault):
                raise
            if len(keys) == 1:
                _log.error("not_released", receipt=str(keys[0][1]), error=type(fault).__name__)
                return
        else:
            meters.deposited(messages)
            await self._wake.publish(mailboxes(messages))
            return
        middle = len(keys) // 2
        await self._settle(keys[:middle])
        await self._settle(keys[middle:])


async def release(
    conn: AnyConnection,
    keys: Sequence[Key],
    directory: Directory,
    clock: Clock = store.database_clock,
) -> list[Message]:
    """Decide these held receipts again, in the caller's transaction; answers the messages that they became."""
    stops = await stop.scopes(conn, {tenant for tenant, _, _ in keys})
    memories = await guard_state.lock_state(
        conn, {(tenant, subscription) for tenant, _, subscription in keys}
    )
    rows = await conn.fetch(_SQL["take"], *columns(keys, 3))
    ended, again = _sorted(rows, directory)
    arrivals = keyed(again, "held")
    ledger = await load(conn, arrivals, memories, stops)
    done = await resolve(conn, arrivals, ledger, directory.policy_valid_until(), clock, entry="held")
    await commit.write_guards(conn, done)
    messages = await commit.deposit_messages(conn, done)
    await _rewrite(conn, done, ended)
    await commit.drop_items(conn, commit.dropped(done.flushed), done.setting.database)
    await store.write_due_instants(conn, done.decided)
    await store.end_due_instants(conn, [(*one.key[:2], "dropped", one.reason) for one in ended])
    await commit.tell(conn, done)
    return messages


def _sorted(rows: Iterable[Record], directory: Directory) -> tuple[list[Ended], list[Arrival]]:
    """What fires no more, and what is to be decided again, in the order of arrival."""
    ended: list[Ended] = []
    again: list[Arrival] = []
    for row in rows:
        key = row["tenant_id"], row["receiptid"], row["subscription"]
        subscription = directory.subscription(row["tenant_id"], row["subscription"])
        if subscription is None:
            ended.append(Ended(key, "rights", "revoked", {}))
        elif row["choice"] == "drop":
            numbers = {
                "cause": row["cause"],
                "suspension": str(row["suspension"]),
                "since": str(row["held_at"]),
            }
            ended.append(Ended(key, guard_of(row["cause"]), row["cause"], numbers))
        elif _is_missed(row):
            numbers = {"misfire": row["misfire"], "scope": row["scope"], "cause": row["cause"]}
            ended.append(Ended(key, "delivery", "misfire", numbers))
        else:
            again.append(Arrival(loads_envelope(row["envelope"]), row["envelope"], [Match(subscription)], 0))
    return ended, again


def _is_missed(row: Record) -> bool:
    """Whether an instant that was held is one that `misfire` lets go."""
    if row["cause"] == "policy_expired" or row["misfire"] in (None, "all"):
        return False
    return row["misfire"] == "skip" or not row["is_last"]


async def _rewrite(conn: AnyConnection, done: Resolution, ended: Sequence[Ended]) -> None:
    rows: list[Row] = [
        (
            passage.envelope.tenantid,
            passage.envelope.receiptid,
            passage.subscription.name,
            passage.subscription.version,
            passage.decided.outcome,
            passage.decided.guard,
            passage.decided.reason,
            store.verdicts_as_json(passage).decode(),
            as_json(passage.decided.numbers),
            passage.decided.message,
            passage.given.clock.recorded,
        )
        for passage in done.passages
    ]
    rows += [
        (*one.key, None, "dropped", one.guard, one.reason, None, as_json(one.numbers), None, None)
        for one in ended
    ]
    if rows:
        await conn.execute(_SQL["rewrite"], *columns(rows, 11), done.setting.database)
    left = [
        (passage.envelope.tenantid, passage.envelope.receiptid, passage.subscription.name)
        for passage in done.passages
        if not passage.takes_key
    ]
    if left:
        await conn.execute(_SQL["give_back"], *columns(left, 3))
    if ended:
        await conn.execute(_SQL["forget"], *columns([one.key for one in ended], 3))
