"""Conservation: whatever is killed when, each message is acknowledged, live or dead, and each effect is there once."""

import asyncio
import os
import random
import sys
from dataclasses import dataclass

import asyncpg

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine.postgres import DATABASE_FAULTS, DatabaseUnreachableError, open_pool
from sereno.mailbox.lease_items import Claimed, ParkItem, ReleaseItem
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.torture.crashing_postgres import CrashingPostgres

WORKERS = 4
LEASE_SECONDS = 2.0
SERVER_SHARE = 5
BATCH = 40
FINISH_SECONDS = 180.0
_AWAY = (*DATABASE_FAULTS, DatabaseUnreachableError)


@dataclass(slots=True)
class Tally:
    """What was counted when everything had calmed down."""

    worker_kills: int = 0
    server_kills: int = 0
    deposited: int = 0
    acked: int = 0
    live: int = 0
    dead: int = 0
    effects: int = 0
    different: int = 0


async def work(execution: str, worker: str) -> None:
    """One worker process: claim, write the effect with the acknowledgement in one transaction, for ever."""
    while True:
        try:
            pool = await open_pool(execution, application_name="victim", max_size=1)
            async with pool:
                own = await asyncpg.connect(worker)
                mailbox = Mailbox(pool, poll_seconds=0.1)
                while True:
                    for got in await mailbox.claim(
                        "acme",
                        "triage",
                        max=5,
                        lease_seconds=LEASE_SECONDS,
                        wait_seconds=1,
                        incarnation=str(os.getpid()),
                    ):
                        await _end(mailbox, own, got)
        except _AWAY:
            await asyncio.sleep(0.05)


async def _end(mailbox: Mailbox, own: "asyncpg.Connection[asyncpg.Record]", got: Claimed) -> None:
    """Of ten messages one is rejected and one waits for a person; the others are done with their effect."""
    match got.id.int % 10:
        case 0:
            await mailbox.release([ReleaseItem(got.lease.token, "rejected")])
        case 1:
            await mailbox.park([ParkItem(got.lease.token, "approval")])
        case _:
            await _act(own, got.lease.token, str(got.id))


async def _act(own: "asyncpg.Connection[asyncpg.Record]", token: int, identifier: str) -> None:
    try:
        async with own.transaction():
            await own.execute("insert into public.effect values ($1::text::uuid)", identifier)
            await own.fetchval("select mailbox.ack_in_transaction($1, null, null)", token)
    except asyncpg.PostgresError as fault:
        if fault.sqlstate != "SR001":
            raise


async def conserve(postgres: CrashingPostgres, kills: int, seed: int) -> Tally:
    """Kill workers and the server that often while messages come in, then let all of it finish, and count."""
    dice, tally = random.Random(seed), Tally()
    await _make_effects(postgres.owner)
    victims = [await _worker(postgres) for _ in range(WORKERS)]
    try:
        for kill in range(kills):
            await _deposit(postgres, tally)
            await asyncio.sleep(dice.uniform(0.05, 0.4))
            if kill % SERVER_SHARE == SERVER_SHARE - 1:
                await asyncio.to_thread(postgres.crash)
                tally.server_kills += 1
            else:
                place = dice.randrange(WORKERS)
                victims[place].kill()
                await victims[place].wait()
                victims[place] = await _worker(postgres)
                tally.worker_kills += 1
        await _finish(postgres, tally)
    finally:
        for victim in victims:
            victim.kill()
            await victim.wait()
    return tally


async def _make_effects(owner: str) -> None:
    connection = await asyncpg.connect(owner)
    await connection.execute("create table public.effect (message uuid)")
    await connection.execute("grant usage on schema public to sereno_worker, sereno_execution")
    await connection.execute("grant select, insert on public.effect to sereno_worker, sereno_execution")
    await connection.close()


async def _worker(postgres: CrashingPostgres) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.torture.conservation", postgres.execution, postgres.worker
    )


async def _deposit(postgres: CrashingPostgres, tally: Tally) -> None:
    pool = await open_pool(postgres.execution, application_name="deposit", max_size=1)
    async with pool, pool.acquire() as conn, conn.transaction():
        await deposit(conn, [message(max_attempts=3) for _ in range(BATCH)])
    tally.deposited += BATCH


async def _finish(postgres: CrashingPostgres, tally: Tally) -> None:
    pool = await open_pool(postgres.execution, application_name="count", max_size=2)
    async with pool, asyncio.timeout(FINISH_SECONDS):
        while await pool.fetchval("select count(*) from mailbox.work where state <> 'parked'"):
            await Reaper(pool).sweep()
            await asyncio.sleep(0.2)
        await _count(pool, tally)


async def _count(pool: AnyPool, tally: Tally) -> None:
    tally.acked = await pool.fetchval(
        "select count(distinct message_id) from mailbox.event where kind = 'acked'"
    )
    tally.live = await pool.fetchval("select count(*) from mailbox.work")
    tally.dead = await pool.fetchval("select count(*) from mailbox.dead")
    tally.effects = await pool.fetchval("select count(*) from public.effect")
    tally.different = await pool.fetchval("select count(distinct message) from public.effect")


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
