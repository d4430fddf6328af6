"""The releaser: what was held on its way to a mailbox is decided again once the cause is gone.

A held verdict is the record of it. The receipt keeps its id, enters again at guard 3 and its verdict is rewritten:
its own dedup row is left out, and what its ancestors are has not changed.
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
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline import quarantine, store
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.matcher import Match
from sereno.execution_plane.pipeline.round import Setting, decide
from sereno.execution_plane.pipeline.wake_up import message_of
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.deposit import deposit
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

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", catalog: Catalog, wake: Wake) -> None:
        self._pool = pool
        self._catalog = catalog
        self._directory = Directory(catalog)
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
            await self._wake.publish(mailboxes(messages))
            return
        middle = len(keys) // 2
        await self._settle(keys[:middle])
        await self._settle(keys[middle:])


async def release(conn: AnyConnection, keys: Sequence[Key], directory: Directory) -> list[Message]:
    """Decide these held receipts again, in the caller's transaction; answers the messages that they became."""
    stops = await stop.scopes(conn, {tenant for tenant, _, _ in keys})
    memories = await store.lock_state(conn, {(tenant, subscription) for tenant, _, subscription in keys})
    rows = await conn.fetch(_SQL["take"], *map(list, zip(*keys, strict=True)))
    ended, arrivals = _sorted(rows, directory)
    ledger = Ledger(memories=memories, stops=tuple(stops), watches_objects=False)
    setting = Setting(
        await store.database_clock(conn),
        directory.policy_valid_until(),
        await store.load_causes(conn, arrivals),
    )
    decided = decide(arrivals, ledger, setting, entry="held")
    passages = [passage for item in decided for passage in item.passages]
    messages = [
        message_of(passage, item.arrival.attributes)
        for item in decided
        for passage in item.passages
        if passage.decided.outcome == "delivered"
    ]
    await store.write_state(conn, ledger.memories)
    await store.write_occurrences(conn, passages, ledger)
    await deposit(conn, messages)
    await _rewrite(conn, passages, ended)
    await store.write_due_instants(conn, decided)
    await store.end_due_instants(conn, [(*one.key[:2], "dropped", one.reason) for one in ended])
    return messages


def _sorted(rows: Iterable[Record], directory: Directory) -> tuple[list[Ended], list[Arrival]]:
    """What fires no more, and what is to be decided again: each receipt once, with all that it concerns."""
    ended: list[Ended] = []
    again: dict[tuple[str, UUID], tuple[Record, list[Match]]] = {}
    known: dict[str, dict[str, Subscription]] = {}
    for row in rows:
        tenant, name = row["tenant_id"], row["subscription"]
        if tenant not in known:
            known[tenant] = {one.name: one for one in directory.index.of_tenant(tenant)}
        key = tenant, row["receiptid"], name
        if name not in known[tenant]:
            ended.append(Ended(key, "rights", "revoked", {}))
        elif _is_missed(row):
            numbers = {"misfire": row["misfire"], "scope": row["scope"]}
            ended.append(Ended(key, "delivery", "misfire", numbers))
        else:
            again.setdefault(key[:2], (row, []))[1].append(Match(known[tenant][name]))
    return ended, [_arrival(row, matches) for row, matches in again.values()]


def _is_missed(row: Record) -> bool:
    """Whether an instant that a stop held is one that `misfire` lets go."""
    if row["reason"] != "stopped" or row["misfire"] in (None, "all"):
        return False
    return row["misfire"] == "skip" or not row["is_last"]


def _arrival(row: Record, matches: Sequence[Match]) -> Arrival:
    return Arrival(loads_envelope(row["envelope"]), row["envelope"], matches, 0)


async def _rewrite(conn: AnyConnection, passages: Sequence[Passage], ended: Sequence[Ended]) -> None:
    rows: list[store.Row] = [
        (
            passage.envelope.tenantid,
            passage.envelope.receiptid,
            passage.subscription.name,
            passage.subscription.version,
            passage.decided.outcome,
            passage.decided.guard,
            passage.decided.reason,
            store.verdicts_as_json(passage),
            store.as_json(passage.decided.numbers),
            passage.decided.message,
        )
        for passage in passages
    ]
    rows += [
        (*one.key, None, "dropped", one.guard, one.reason, None, store.as_json(one.numbers), None)
        for one in ended
    ]
    if rows:
        await conn.execute(_SQL["rewrite"], *map(list, zip(*rows, strict=True)))
    if ended:
        keys = [one.key for one in ended]
        await conn.execute(_SQL["forget"], *map(list, zip(*keys, strict=True)))
