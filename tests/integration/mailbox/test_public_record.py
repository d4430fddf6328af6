"""Rows of the public record of queues and wake-ups, by their number: the symptom is absent here.

Those that speak of a worker's own process are shown beside its tests; limits and ageing (Q29, Q33, Q43, Q49) in
`test_limits.py`, plans (Q65) in `test_plans.py`, units of the command line (Q09, Q41) with the commands.
"""

import asyncio
from datetime import timedelta

import pytest

from sereno.mailbox import standing
from sereno.mailbox.backoff import delay
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.lease_items import AckItem, ReleaseItem, RenewItem, Status
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import MAX_BATCH, Mailbox
from sereno.mailbox.wake import Wake
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, ids, lapse, put
from tests.waiting import until

VERBS = queries.load("sereno.mailbox", "verbs.sql")


async def test_q03_a_late_result_changes_nothing_and_is_told_of(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    old = await claim_one(mailbox, lease_seconds=0.02)
    await lapse(pool, old.lease.token)
    await Reaper(pool).sweep()
    new = await claim_one(mailbox)
    before = await pool.fetchrow("select * from mailbox.work")
    assert (await ack(mailbox, old))[0].status is Status.STALE
    assert await pool.fetchrow("select * from mailbox.work") == before
    assert await pool.fetchval("select detail from mailbox.event where kind = 'refused'") == "stale_ack"
    assert (await ack(mailbox, new))[0].status is Status.OK


async def test_q19_the_reaper_ends_nothing_for_lack_of_a_worker(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(agent="nobody-serves-this"))
    [got] = await mailbox.claim("acme", "nobody-serves-this", max=1, lease_seconds=0.02, incarnation="w")
    await lapse(pool, got.lease.token)
    await Reaper(pool).sweep()
    assert await pool.fetchval("select state from mailbox.work") == "ready"


async def test_q21_the_age_counts_from_the_first_claim_over_all_claims(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message(max_age_seconds=0.4, max_attempts=100))
    first = await pool.fetchval("select give_up_at from mailbox.work")
    assert first is None

    async def given_up() -> bool:
        for got in await claim(mailbox, lease_seconds=0.02):
            await lapse(pool, got.lease.token)
        await Reaper(pool).sweep()
        return bool(await pool.fetchval("select reason = 'deadline' from mailbox.dead"))

    await until(given_up)


async def test_q23_no_lease_is_longer_than_its_bounds_whoever_asks(pool: AnyPool, mailbox: Mailbox) -> None:
    """A claim stamped in the future counted as fresh for ever: here only the database has a clock."""
    await put(pool, message(max_run_seconds=5))
    got = await claim_one(mailbox, lease_seconds=10_000_000)
    assert got.lease.until == got.lease.hard_deadline
    assert got.lease.seconds == 5
    [answer] = await mailbox.renew([RenewItem(got.lease.token)])
    assert answer.until == got.lease.hard_deadline


async def test_q31_a_claim_that_fails_takes_nothing(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    async with pool.acquire() as conn:
        transaction = conn.transaction()
        await transaction.start()
        row = await conn.fetchrow(VERBS["claim"], "acme", "triage", 1, None, "w", "w", None)
        assert row is not None
        assert len(row["ids"]) == 1
        await transaction.rollback()
    assert (await claim_one(mailbox)).attempts == 1


async def test_q35_one_bad_row_does_not_stop_the_sweep(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(message(max_attempts=1) for _ in range(5)))
    claimed = await claim(mailbox, lease_seconds=0.02)
    for got in claimed:
        await lapse(pool, got.lease.token)
    # A leftover that collides with what the sweep wants to write.
    await pool.execute(
        "insert into mailbox.dead (tenant_id, id, agent, subscription, reason, attempts, max_attempts, closed_at)"
        " values ('acme', $1, 'triage', 's', 'left over', 1, 1, now())",
        claimed[2].id,
    )
    await Reaper(pool).sweep()
    assert await pool.fetchval("select count(*) from mailbox.dead") == 5
    assert await pool.fetchval("select count(*) from mailbox.work") == 1


async def test_q37_each_occurrence_is_a_message_of_its_own(pool: AnyPool, mailbox: Mailbox) -> None:
    """A key of the entity alone drops its second version; here identity is the occurrence, never the serial key."""
    first, second = message(serial_key="customer-1"), message(serial_key="customer-1")
    await put(pool, first)
    await put(pool, second)
    await ack(mailbox, await claim_one(mailbox))
    assert (await claim_one(mailbox)).id == second.id


async def test_q39_what_is_exhausted_is_kept_and_counted(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(message(max_attempts=1) for _ in range(3)))
    dies, done, _waits = await claim(mailbox)
    await mailbox.release([ReleaseItem(dies.lease.token, "boom")])
    await ack(mailbox, done)
    rows = await pool.fetch("select state, count(*) from mailbox.standing group by state order by state")
    assert [tuple(row) for row in rows] == [("acked", 1), ("dead", 1), ("leased", 1)]


async def test_q57_a_pause_outlives_every_process(pool: AnyPool) -> None:
    await put(pool, message())
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", "refund-watch", "paused", principal="user:marta")
    assert await claim(Mailbox(pool)) == []
    held = await pool.fetchrow("select principal, detail from mailbox.event where kind = 'held'")
    assert held is not None
    assert tuple(held) == ("user:marta", "paused")


async def test_q59_without_any_hint_the_next_poll_finds_it(pool: AnyPool) -> None:
    mailbox = Mailbox(pool, wake=Wake(None), poll_seconds=0.1)
    waiting = asyncio.create_task(claim(mailbox, wait_seconds=30))
    await put(pool, message())
    assert len(await waiting) == 1


async def test_q61_no_statement_of_the_mailbox_notifies(pool: AnyPool, mailbox: Mailbox) -> None:
    bodies = await pool.fetch(
        "select prosrc from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'mailbox'"
    )
    assert not [row for row in bodies if "notify" in row["prosrc"].lower()]
    triggers = "select count(*) from pg_trigger t join pg_class c on c.oid = t.tgrelid"
    assert await pool.fetchval(f"{triggers} where c.relnamespace = 'mailbox'::regnamespace") == 0


async def test_q63_no_row_refers_to_another_by_a_foreign_key(pool: AnyPool) -> None:
    keys = "select count(*) from pg_constraint where contype = 'f' and connamespace = 'mailbox'::regnamespace"
    assert await pool.fetchval(keys) == 0


async def test_q67_every_id_and_position_is_eight_bytes_wide(pool: AnyPool) -> None:
    narrow = await pool.fetch(
        "select table_name, column_name from information_schema.columns where table_schema = 'mailbox'"
        " and data_type in ('integer', 'smallint') and column_name in"
        " ('position', 'token', 'order_key', 'place', 'last_tag', 'virtual_time', 'count', 'deposits', 'epoch')"
    )
    assert narrow == []
    sequences = await pool.fetch("select data_type from pg_sequences where schemaname = 'mailbox'")
    assert {row["data_type"] for row in sequences} == {"bigint"}


async def test_q71_however_much_waits_a_claim_is_bounded(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(message() for _ in range(MAX_BATCH + 50)))
    assert len(await claim(mailbox, MAX_BATCH)) == MAX_BATCH
    with pytest.raises(ValueError, match=r"^max: expected"):
        await claim(mailbox, MAX_BATCH + 1)


async def test_q73_attempts_are_apart_whatever_the_worker_asks(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(max_attempts=21))
    got = await claim_one(mailbox)
    await mailbox.release([ReleaseItem(got.lease.token, "boom", 0.0)])
    assert await claim(mailbox) == []
    waits = [delay(attempt, timedelta(0)) for attempt in range(1, 22)]
    assert sum(waits, timedelta(0)) >= timedelta(seconds=21)


@pytest.mark.req(30, 32)
async def test_i1_a_run_past_its_deadline_cannot_finish_the_next_ones_work(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message(max_run_seconds=0.05))
    first = await claim_one(mailbox, lease_seconds=60)
    await lapse(pool, first.lease.token)
    await Reaper(pool).sweep()
    second = await claim_one(mailbox)
    answers = await mailbox.ack([AckItem(first.lease.token, "mine"), AckItem(second.lease.token, "yours")])
    assert [answer.status for answer in answers] == [Status.STALE, Status.OK]
    results = await pool.fetch("select data from mailbox.event where kind = 'acked'")
    assert [row["data"] for row in results] == [{"result": "yours"}]


async def test_i2_the_same_worker_with_the_same_name_is_another_holder(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message())
    old = await claim_one(mailbox, lease_seconds=0.02, incarnation="same")
    await lapse(pool, old.lease.token)
    await Reaper(pool).sweep()
    new = await claim_one(mailbox, incarnation="same")
    token = old.lease.token
    refused = [
        *await mailbox.renew([RenewItem(token)]),
        *await mailbox.release([ReleaseItem(token, "busy")]),
        *await mailbox.ack([AckItem(token)]),
        *await mailbox.check([token]),
    ]
    assert {answer.status for answer in refused} == {Status.STALE}
    assert (await ack(mailbox, new))[0].status is Status.OK


async def test_i3_a_long_run_keeps_nothing_else_from_being_claimed(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    await claim_one(mailbox, lease_seconds=3600)
    await put(pool, message())
    assert len(await claim(mailbox)) == 1


async def test_i5_what_arrives_in_mid_task_comes_with_the_next_claim(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    held = await claim_one(mailbox)
    later = [message() for _ in range(3)]
    await put(pool, *later)
    [renewed] = await mailbox.renew([RenewItem(held.lease.token)])
    assert (renewed.status, renewed.state) == (Status.OK, "leased")
    await ack(mailbox, held)
    assert ids(await claim(mailbox)) == [one.id for one in later]
