"""How many bytes of write-ahead log a message costs, from its deposit to its acknowledgement.

`pg_stat_wal` counts whole-page images, which a page needs once after each checkpoint, with the records that made
them. So the server writes none while it is measured (`full_page_writes = off`), after a round that touches every page.
"""

import statistics
import sys

import asyncpg

from sereno.mailbox.deposit import deposit
from tests.benchmarks.contenders import Ours, batches
from tests.benchmarks.figures import Bound
from tests.benchmarks.server import new_database

JOBS = 2000
ROUNDS = 3
DEPOSIT = 500
BOUND = Bound("WAL bytes a message, deposit to ack, batch 100", 2000, 1200, at_most=True, digits=0)
LIMITED = "the same for an agent with a limit of live leases"
_WAL = "select wal_bytes::float8 as bytes, wal_fpi as images from pg_stat_wal"


async def measure(dsn: str) -> bool:
    """Measure and show; whether it is little enough."""
    watch = await asyncpg.connect(dsn)
    try:
        await _page_images(watch, "off")
        plain = await _values(dsn, watch, Ours(100, limited=False), "wal")
        limited = await _values(dsn, watch, Ours(100), "wal_limited")
    finally:
        await _page_images(watch, "on")
        await watch.close()
    reached = BOUND.show(plain)
    sys.stdout.write(f"{LIMITED:58}{statistics.median(limited):8.0f}\n")
    return reached


async def _values(
    dsn: str, watch: "asyncpg.Connection[asyncpg.Record]", ours: Ours, name: str
) -> list[float]:
    await ours.open(await new_database(dsn, name))
    try:
        await _round(ours)
        return [await _bytes(watch, ours) for _ in range(ROUNDS)]
    finally:
        await ours.close()


async def _page_images(watch: "asyncpg.Connection[asyncpg.Record]", on: str) -> None:
    await watch.execute(f"alter system set full_page_writes = {on}")
    await watch.execute("select pg_reload_conf()")
    await watch.execute("checkpoint")


async def _round(ours: Ours) -> None:
    for some in batches(ours.make(JOBS), DEPOSIT):
        async with ours.pool.acquire() as conn, conn.transaction():
            await deposit(conn, [job.message for job in some])
    await ours.drain(JOBS)


async def _bytes(watch: "asyncpg.Connection[asyncpg.Record]", ours: Ours) -> float:
    before = await _counted(watch, ours)
    await _round(ours)
    after = await _counted(watch, ours)
    sys.stdout.write(f"{'':15} {after['images'] - before['images']} whole-page images in the round\n")
    return float(after["bytes"] - before["bytes"]) / JOBS


async def _counted(watch: "asyncpg.Connection[asyncpg.Record]", ours: Ours) -> asyncpg.Record:
    # A backend tells its numbers when it is idle for a while, or when it is asked to.
    for connection in [await ours.pool.acquire() for _ in range(ours.pool.get_size())]:
        await connection.execute("select pg_stat_force_next_flush()")
        await ours.pool.release(connection)
    row = await watch.fetchrow(_WAL)
    assert row is not None
    return row
