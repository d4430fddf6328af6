"""The projection folds out of its log again, also after days were dropped."""

import asyncio
import random
import re
from datetime import UTC, date, datetime, timedelta

import asyncpg
import pytest

from sereno.mailbox import retention, standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.engine import queries
from sereno.mailbox.lease_items import AckItem, ParkItem, ReleaseItem, RenewItem
from sereno.mailbox.rebuild import compare, rebuild
from sereno.mailbox.shadow import TABLES, Shadow
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, put


async def life(pool: AnyPool, mailbox: Mailbox, seed: int) -> None:
    """Messages in every state, by random moves."""
    dice = random.Random(seed)
    for _ in range(8):
        await put(
            pool, *(message(serial_key=dice.choice([None, "a", "b"]), max_attempts=2) for _ in range(4))
        )
        for got in await claim(mailbox, 3):
            token = got.lease.token
            match dice.randrange(6):
                case 0:
                    await mailbox.ack([AckItem(token, {"n": 1})])
                case 1:
                    await mailbox.release(
                        [ReleaseItem(token, dice.choice(["not_started", "rejected", "busy"]))]
                    )
                case 2:
                    await mailbox.park([ParkItem(token, "question", "Which?", ["A"], None, 60.0)])
                case 3:
                    await mailbox.renew([RenewItem(token, {"step": 1})])
                case 4:
                    await mailbox.park([ParkItem(token, "approval")])
                    await mailbox.resume("acme", got.id, {"ok": True}, "user:marta")
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", "refund-watch", "paused")
        if dice.random() < 0.5:
            await standing.unhold(conn, "acme", "refund-watch", "paused")
    await mailbox.redrive("acme", Filter(reason="rejected"), reason="again", principal="user:marta")


@pytest.mark.parametrize("seed", range(3))
async def test_a_rebuild_differs_nowhere_and_what_was_live_goes_on(
    pool: AnyPool, mailbox: Mailbox, seed: int
) -> None:
    await life(pool, mailbox, seed)
    before = await pool.fetch("select * from mailbox.work order by id")
    assert await compare(pool) == []
    after = await pool.fetch("select * from mailbox.work order by id")
    assert [dict(row) for row in after] == [dict(row) for row in before]
    for row in await pool.fetch("select token from mailbox.work where state = 'leased' and cancel is null"):
        [answer] = await mailbox.renew([RenewItem(row["token"])])
        assert answer.status == "ok"


DAMAGE = """
with lost as (
    delete from mailbox.work where id in (select id from mailbox.work order by id limit 2)
), raised as (
    update mailbox.work set attempts = attempts + 1, subscription = 'else' where id in (
        select id from mailbox.work where state = 'ready' and attempts < max_attempts order by id offset 2 limit 2
    )
), invented as (
    insert into mailbox.dead (tenant_id, id, agent, subscription, reason, attempts, max_attempts, closed_at)
    select tenant_id, id, agent, subscription, 'nothing', 0, 1, now() from mailbox.work order by id desc limit 1
)
update mailbox.parked set question = 'Another?'
"""


async def test_what_the_log_does_not_tell_is_found_and_put_right(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(agent="other"))
    [waits] = await mailbox.claim("acme", "other", incarnation="w")
    await mailbox.park([ParkItem(waits.lease.token, "question", "Which?", ["A"], None, 60.0)])
    await life(pool, mailbox, 1)
    # But for `due`: that a time has come is noticed by whoever looks first.
    tables = [
        f"select to_jsonb(t) - 'due' as row from mailbox.{table} t order by id"
        for table in ("work", "dead", "parked")
    ]
    before = [await pool.fetch(table) for table in tables]
    await pool.execute(DAMAGE)
    damaged = [await pool.fetch(table) for table in tables]
    found = await compare(pool)
    assert {one.table for one in found} == {"work", "dead", "parked"}
    assert [await pool.fetch(table) for table in tables] == damaged
    rebuilt = await rebuild(pool)
    assert {(one.table, one.key) for one in rebuilt.mended} == {(one.table, one.key) for one in found}
    assert list(rebuilt.differences) == []
    assert [await pool.fetch(table) for table in tables] == before
    for table in TABLES:
        await pool.execute(f"delete from mailbox.{table}")
    assert len((await rebuild(pool)).mended) == sum(map(len, before))
    assert [await pool.fetch(table) for table in tables] == before


async def test_the_mailbox_works_while_the_log_is_folded(
    pool: AnyPool, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await life(pool, mailbox, 2)
    fold_all = Shadow.fold_all

    async def with_work(shadow: Shadow, at: datetime) -> None:
        await fold_all(shadow, at)
        async with asyncio.timeout(30):
            await life(pool, mailbox, 3)

    monkeypatch.setattr(Shadow, "fold_all", with_work)
    rebuilt = await rebuild(pool)
    assert list(rebuilt.mended) == []
    assert await compare(pool) == []


async def test_a_rebuild_beside_a_busy_mailbox_finds_nothing(pool: AnyPool, mailbox: Mailbox) -> None:
    busy = asyncio.create_task(life(pool, mailbox, 4))
    rebuilds = 0
    while not busy.done() or not rebuilds:
        assert list((await rebuild(pool)).mended) == []
        rebuilds += 1
    await busy


async def test_every_column_is_compared(pool: AnyPool) -> None:
    """But for when a row was seen to be due, and when a reminder comes, which are no events."""
    statements = queries.load("sereno.mailbox", "shadow.sql")
    left_out = {"due", "remind_at", "tenant_id", "id"}
    for table in TABLES:
        rows = await pool.fetch(
            "select attname from pg_attribute"
            " where attrelid = $1::text::regclass and attnum > 0 and not attisdropped",
            f"mailbox.{table}",
        )
        columns = {row["attname"] for row in rows}
        assert len(columns) > 8
        for column in columns - left_out:
            assert re.search(rf"\ba\.{column}\b", statements[f"differing_{table}"]), (table, column)


async def age(pool: AnyPool, dsn: str, days: int) -> date:
    """Make everything look so many days old: rows move into partitions of their day."""
    owner = await asyncpg.connect(dsn)
    day = datetime.now(UTC).date() - timedelta(days=days)
    try:
        await owner.execute(
            f"create table mailbox.event_{day:%Y%m%d} (like mailbox.event including all excluding identity excluding indexes)"
        )
        await owner.execute(
            f"alter table mailbox.event attach partition mailbox.event_{day:%Y%m%d}"
            f" for values from ('{day}Z') to ('{day + timedelta(days=1)}Z')"
        )
        span = timedelta(days=days)
        for table, columns in {
            "event": ("at", "until"),
            "message": ("deposited_at", "ready_at"),
            "work": (
                "ready_at",
                "leased_until",
                "hard_deadline",
                "give_up_at",
                "still_since",
            ),
            "dead": ("closed_at",),
            "parked": ("deadline", "remind_at"),
        }.items():
            moves = ", ".join(f"{column} = {column} - $1::interval" for column in columns)
            await owner.execute(f"update mailbox.{table} set {moves}", span)
    finally:
        await owner.close()
    return day


async def test_a_day_is_dropped_and_the_rebuild_still_differs_nowhere(
    pool: AnyPool, mailbox: Mailbox, engines: "object"
) -> None:
    await life(pool, mailbox, 1)
    day = await age(pool, engines.dsn, 5)  # type: ignore[attr-defined]
    assert await compare(pool) == []
    with pytest.raises(asyncpg.PostgresError, match="not carried forward"):
        await pool.fetchval("select mailbox.drop_day($1)", day)
    assert await retention.drop(pool, day)
    assert await pool.fetchval("select count(*) from mailbox.event where kind <> 'carried'") == 0
    assert await compare(pool) == []
    await mailbox.redrive("acme", Filter(), reason="again", principal="user:marta")
    for got in await claim(mailbox, 100):
        await ack(mailbox, got)
    assert await compare(pool) == []


async def test_days_are_made_ahead_once(pool: AnyPool) -> None:
    assert await retention.create_days(pool, 3) == 0
    assert await retention.create_days(pool, 5) == 4
    await put(pool, message())
    with pytest.raises(asyncpg.PostgresError, match="only days before yesterday"):
        await retention.drop(pool, datetime.now(UTC).date())


async def test_one_acked_message_needs_no_row(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    await ack(mailbox, await claim_one(mailbox))
    assert await compare(pool) == []
    assert await pool.fetchval("select count(*) from mailbox.work") == 0
