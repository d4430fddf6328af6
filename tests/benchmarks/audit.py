"""The audit chain: records verified per second by one process, and appended by 20 tenants at once beside plain inserts.

Run by `make bench-audit`: a server of its own with fsync on, one record a transaction on both sides, turn about.
"""

import asyncio
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import uvloop

from sereno.deploy import database
from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.chain import Head, canonical, extend, verify
from sereno.mailbox.audit.ledger import Entry
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine.postgres import open_pool
from tests.benchmarks.figures import Bound, ratios, spread
from tests.benchmarks.server import durable_postgres, new_database, prepare

RECORDS = 300_000
TENANTS, SECONDS, ROUNDS = 20, 3.0, 5
VERIFIED = Bound("records verified per second", 50_000, 100_000, digits=0)
APPENDED = Bound(f"appends of {TENANTS} tenants / plain inserts", 0.6, 0.8)
_PLAIN = """
create table public.plain (
    tenant_id text not null, seq bigint generated always as identity, prev bytea not null, hash bytea not null,
    canonical bytea not null, salt bytea not null, primary key (tenant_id, seq), unique (tenant_id, prev)
)
"""
_INSERT = "insert into public.plain (tenant_id, prev, hash, canonical, salt) values ($1, $2, $3, $4, $5)"
_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)

Write = Callable[[AnyConnection, str, int], Awaitable[object]]


def _content(number: int) -> bytes:
    return canonical(
        {
            "plane": "control",
            "tenant": "acme",
            "at": "2026-11-30T12:00:00.000000Z",
            "actor": "user:marta",
            "type": "subscription.edited",
            "subject": f"subscription/watch-{number}",
            "commitment": "ab" * 32,
        }
    )


def verified() -> float:
    records = list(extend(Head(), map(_content, range(RECORDS))))
    started = time.perf_counter()
    report = verify(records, Head(records[-1].seq, records[-1].hash))
    seconds = time.perf_counter() - started
    assert not report.faults
    return RECORDS / seconds


async def _chained(conn: AnyConnection, tenant: str, number: int) -> None:
    entry = Entry(_AT, "user:marta", "subscription.edited", f"subscription/watch-{number}", {"n": number})
    await ledger.append(conn, "control", tenant, [entry])


async def _plain(conn: AnyConnection, tenant: str, number: int) -> None:
    # As large, with the same indexes, and nothing of a chain.
    row = secrets.token_bytes(32), bytes(32), _content(number), bytes(ledger.SALT_BYTES)
    await conn.execute(_INSERT, tenant, *row)


async def _rate(pool: AnyPool, write: Write) -> float:
    """Transactions per second of all tenants together, each with one record."""
    until = time.perf_counter() + SECONDS

    async def tenant(name: str) -> int:
        number = 0
        async with pool.acquire() as conn:
            while time.perf_counter() < until:
                async with conn.transaction():
                    await write(conn, name, number)
                number += 1
        return number

    return sum(await asyncio.gather(*(tenant(f"tenant-{n}") for n in range(TENANTS)))) / SECONDS


async def appended(dsn: str) -> tuple[list[float], list[float]]:
    """Rounds of both, turn about."""
    sys.stdout.write(await prepare(dsn) + "\n")
    address = await new_database(dsn, "audit")
    await database.prepare(address)
    pool = await open_pool(address, application_name="bench-audit", min_size=TENANTS, max_size=TENANTS)
    try:
        await pool.execute(_PLAIN)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(await _rate(pool, _plain))
            ours.append(await _rate(pool, _chained))
        for number in range(TENANTS):
            async with pool.acquire() as conn:
                assert not (await ledger.check(conn, "control", f"tenant-{number}")).faults
    finally:
        await pool.close()
    return ours, theirs


def main() -> int:
    reached = VERIFIED.show([verified()])
    with durable_postgres() as dsn:
        ours, theirs = asyncio.Runner(loop_factory=uvloop.new_event_loop).run(appended(dsn))
    sys.stdout.write(f"appended {spread(ours)}/s, plain inserts {spread(theirs)}/s; every chain is whole\n")
    return 0 if APPENDED.show(ratios(ours, theirs)) and reached else 1


if __name__ == "__main__":
    sys.exit(main())
