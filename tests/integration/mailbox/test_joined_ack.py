"""An acknowledgement inside the worker's own transaction: the effect and the end of the message are one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import asyncpg
import psycopg
import pytest

from sereno.mailbox import Worker, joined_ack, standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import ReleaseItem, RenewItem, Status
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.worker import Delivery, LeaseLostError
from tests.engines import Engines
from tests.mailbox_messages import message
from tests.mailbox_reading import events, outcomes, still_open

SECOND = timedelta(seconds=1)


@pytest.fixture
async def effects(engines: Engines) -> AsyncIterator["asyncpg.Pool[asyncpg.Record]"]:
    """The worker's own pool, as role `sereno_worker`, with a table that the worker writes to."""
    owner = await asyncpg.connect(engines.dsn)
    await owner.execute("create schema shop")
    await owner.execute("create table shop.effect (message text not null, attempt integer not null)")
    await owner.execute("grant usage on schema shop to sereno_worker")
    await owner.execute("grant select, insert on shop.effect to sereno_worker")
    await owner.close()
    pool = await asyncpg.create_pool(engines.worker_dsn, min_size=1, max_size=4)
    yield pool
    await pool.close()


async def put(pool: AnyPool, count: int = 1, **fields: object) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message(**fields) for _ in range(count)])


async def written(effects: "asyncpg.Pool[asyncpg.Record]") -> list[tuple[str, int]]:
    return [
        tuple(row) for row in await effects.fetch("select message, attempt from shop.effect order by 1, 2")
    ]


async def write_and_ack(effects: "asyncpg.Pool[asyncpg.Record]", token: int) -> None:
    async with effects.acquire() as connection, connection.transaction():
        await connection.execute("insert into shop.effect values ($1, 1)", str(token))
        await joined_ack.ack(connection, token, "in time")


async def test_the_effect_and_the_acknowledgement_commit_together(
    pool: AnyPool, url: str, effects: "asyncpg.Pool[asyncpg.Record]"
) -> None:
    await put(pool, 3)
    worker = Worker(url, "worker-token", max_messages=3)

    @worker.agent("triage", concurrency=3)
    async def handle(delivery: Delivery) -> None:
        async with effects.acquire() as connection, connection.transaction():
            await connection.execute(
                "insert into shop.effect values ($1, $2)", delivery.id, delivery.attempts
            )
            await delivery.ack({"rows": 1}, usage={"tokens": 2}, connection=connection)

    await worker.run(handle_signals=False)
    assert await outcomes(pool) == [("acked", None, 1)] * 3
    assert len(await written(effects)) == 3
    acked = await events(pool, "acked")
    assert [event["data"] for event in acked] == [{"result": {"rows": 1}, "usage": {"tokens": 2}}] * 3
    assert await events(pool, "refused") == []


async def test_what_rolls_back_is_not_acknowledged_and_is_given_back(
    pool: AnyPool, url: str, effects: "asyncpg.Pool[asyncpg.Record]"
) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)

    @worker.agent("triage")
    async def handle(delivery: Delivery) -> None:
        async with effects.acquire() as connection, connection.transaction():
            await connection.execute(
                "insert into shop.effect values ($1, $2)", delivery.id, delivery.attempts
            )
            await delivery.ack(connection=connection)
            raise RuntimeError("after all not")

    await worker.run(handle_signals=False)
    assert await still_open(pool) == [("ready", 1)]
    assert await written(effects) == []


async def test_a_stale_token_rolls_the_callers_writes_back(
    pool: AnyPool, mailbox: Mailbox, effects: "asyncpg.Pool[asyncpg.Record]"
) -> None:
    await put(pool)
    [old] = await mailbox.claim("acme", "triage", lease_seconds=0.05, incarnation="w1")
    reaping = asyncio.create_task(Reaper(pool).run())
    [new] = await mailbox.claim("acme", "triage", wait_seconds=10, incarnation="w2")
    reaping.cancel()
    for token, status in ((old.lease.token, Status.STALE), (7, Status.UNKNOWN)):
        with pytest.raises(LeaseLostError) as lost:
            await write_and_ack(effects, token)
        assert lost.value.status == status
    assert await written(effects) == []
    await write_and_ack(effects, new.lease.token)
    assert await written(effects) == [(str(new.lease.token), 1)]
    assert await outcomes(pool) == [("acked", None, 2)]


async def test_a_withdrawn_lease_is_refused_inside_the_transaction(
    pool: AnyPool, mailbox: Mailbox, effects: "asyncpg.Pool[asyncpg.Record]"
) -> None:
    await put(pool)
    [claimed] = await mailbox.claim("acme", "triage", incarnation="w1")
    async with pool.acquire() as conn:
        await standing.withdraw(conn, "acme", "refund-watch")
    [renewed] = await mailbox.renew([RenewItem(claimed.lease.token)])
    assert renewed.status == Status.CANCELLED
    with pytest.raises(LeaseLostError):
        await write_and_ack(effects, claimed.lease.token)
    assert await written(effects) == []


async def test_a_long_transaction_with_an_acknowledgement_holds_up_no_renewal(
    pool: AnyPool, url: str, effects: "asyncpg.Pool[asyncpg.Record]"
) -> None:
    """The transaction locks its row: a heartbeat that waited for it would lose all other leases of the process."""
    await put(pool, 2)
    worker = Worker(url, "worker-token", max_messages=3)
    joined = asyncio.Event()

    @worker.agent("triage", concurrency=2, lease=2 * SECOND)
    async def handle(delivery: Delivery) -> None:
        if joined.is_set():
            return
        joined.set()
        async with effects.acquire() as connection, connection.transaction():
            await delivery.ack(connection=connection)
            await asyncio.sleep(1.5)

    @worker.agent("other", lease=2 * SECOND)
    async def other(_delivery: Delivery) -> None:
        await asyncio.sleep(5)

    await put(pool, agent="other")
    await worker.run(handle_signals=False)
    assert await outcomes(pool) == [("acked", None, 1)] * 2
    assert await pool.fetchval("select count(*) from mailbox.work") == 0


async def by_psycopg(dsn: str, token: int, result: object) -> None:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.execute("insert into shop.effect values (%s, 1)", (str(token),))
        await joined_ack.ack(connection, token, result, {"tokens": 3})


async def by_psycopg_without_async(dsn: str, token: int, result: object) -> None:
    # What does no more than block is fine here: the transaction is short.
    with psycopg.connect(dsn, autocommit=True) as connection, connection.transaction():
        connection.execute("insert into shop.effect values (%s, 1)", (str(token),))
        await joined_ack.ack(connection, token, result, {"tokens": 3})


@pytest.mark.req(114)
@pytest.mark.parametrize("act", [by_psycopg, by_psycopg_without_async])
async def test_psycopgs_connections_are_joined_too(
    pool: AnyPool,
    mailbox: Mailbox,
    engines: Engines,
    effects: "asyncpg.Pool[asyncpg.Record]",
    act: Callable[[str, int, object], Awaitable[None]],
) -> None:
    await put(pool, 2)
    live, lost = await mailbox.claim("acme", "triage", max=2, incarnation="w1")
    await mailbox.release([ReleaseItem(lost.lease.token, "busy")])
    await act(engines.worker_dsn, live.lease.token, {"rows": 1, "text": "100 % of {}"})
    assert await outcomes(pool) == [("acked", None, 1)]
    [acked] = await events(pool, "acked")
    assert acked["data"] == {"result": {"rows": 1, "text": "100 % of {}"}, "usage": {"tokens": 3}}
    for token, status in ((lost.lease.token, Status.STALE), (live.lease.token, Status.STALE), (7, "unknown")):
        with pytest.raises(LeaseLostError) as refused:
            await act(engines.worker_dsn, token, None)
        assert (refused.value.token, refused.value.status) == (token, status)
    with pytest.raises(ValueError, match=r"^result: expected at most 65536 bytes"):
        await act(engines.worker_dsn, live.lease.token, "x" * 65_537)
    assert await written(effects) == [(str(live.lease.token), 1)]


async def test_psycopgs_connection_must_be_in_a_transaction_too(
    engines: Engines, effects: "asyncpg.Pool[asyncpg.Record]"
) -> None:
    async with await psycopg.AsyncConnection.connect(engines.worker_dsn, autocommit=True) as connection:
        with pytest.raises(ValueError, match="expected an open transaction"):
            await joined_ack.ack(connection, 1)


async def test_there_must_be_a_transaction_to_join(effects: "asyncpg.Pool[asyncpg.Record]") -> None:
    async with effects.acquire() as connection:
        with pytest.raises(ValueError, match="expected an open transaction"):
            await joined_ack.ack(connection, 1)


async def test_the_role_can_do_nothing_else(effects: "asyncpg.Pool[asyncpg.Record]") -> None:
    for table in ("message", "work", "event"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await effects.fetch(f"select * from mailbox.{table}")
