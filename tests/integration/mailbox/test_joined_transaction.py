"""The acknowledgement inside a caller's own transaction, as the role of workers."""

from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.engines import Engines
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim_one, lapse, put

ACK = "select mailbox.ack_in_transaction($1, $2, null)"
EFFECTS = "select count(*) from public.effect"
Worker: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def worker(engines: Engines) -> AsyncIterator[Worker]:
    owner = await asyncpg.connect(engines.dsn)
    await owner.execute("create table public.effect (token bigint)")
    await owner.execute("grant usage on schema public to sereno_worker, sereno_execution")
    await owner.execute("grant select, insert on public.effect to sereno_worker, sereno_execution")
    await owner.close()
    connection = await asyncpg.connect(engines.worker_dsn)
    yield connection
    await connection.close()


async def act(worker: Worker, token: int) -> str:
    async with worker.transaction():
        await worker.execute("insert into public.effect values ($1)", token)
        answer: str = await worker.fetchval(ACK, token, '{"n": 1}')
        return answer


@pytest.mark.req(32, 114)
async def test_a_live_lease_commits_the_effect_and_the_acknowledgement(
    pool: AnyPool, mailbox: Mailbox, worker: Worker
) -> None:
    await put(pool, message())
    got = await claim_one(mailbox)
    assert await act(worker, got.lease.token) == "ok"
    assert await pool.fetchval(EFFECTS) == 1
    assert await pool.fetchval("select state from mailbox.standing") == "acked"
    with pytest.raises(asyncpg.PostgresError, match=r"^stale$") as refused:
        await act(worker, got.lease.token)
    assert refused.value.sqlstate == "SR001"
    assert await pool.fetchval(EFFECTS) == 1


@pytest.mark.req(114)
async def test_a_lost_lease_rolls_the_effect_back(pool: AnyPool, mailbox: Mailbox, worker: Worker) -> None:
    await put(pool, message())
    old = await claim_one(mailbox, lease_seconds=0.02)
    await lapse(pool, old.lease.token)
    with pytest.raises(asyncpg.PostgresError, match=r"^expired$"):
        await act(worker, old.lease.token)
    await Reaper(pool).sweep()
    new = await claim_one(mailbox)
    for token, status in ((old.lease.token, "stale"), (new.lease.token + 1, "unknown")):
        with pytest.raises(asyncpg.PostgresError, match=rf"^{status}$"):
            await act(worker, token)
    assert await pool.fetchval(EFFECTS) == 0
    await ack(mailbox, new)


@pytest.mark.parametrize(
    "statement",
    [
        "select * from mailbox.work",
        "select * from mailbox.message",
        "insert into mailbox.message select * from mailbox.message",
        "select mailbox.ack_and_claim('{}', '{}', '{}', null, null, null, 'acme', 'triage', 1, null, 'x', 'x', null)",
        "select mailbox.renew(array[1], '{}', null, null, null)",
        "select mailbox.ack(array[1], array[null], array[null], null, null, null)",
        "select mailbox.drop_day('2020-01-01')",
    ],
)
async def test_that_role_may_do_nothing_else(worker: Worker, statement: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await worker.execute(statement)


async def test_only_the_delivering_role_may_insert_messages(engines: Engines) -> None:
    """Grants: of all roles but the owner, `sereno_execution` alone."""
    owner = await asyncpg.connect(engines.dsn)
    rows = await owner.fetch(
        "select rolname from pg_roles where not rolsuper and rolname not like 'pg\\_%'"
        " and has_table_privilege(rolname, 'mailbox.message', 'insert')"
    )
    await owner.close()
    assert [row["rolname"] for row in rows] == ["sereno_execution"]
