"""Limits: an agent's slots, lines of serial keys, and the fair order of subscriptions."""

import asyncio

import pytest

from sereno.mailbox import limits
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.lease_items import Claimed, ReleaseItem, Status
from sereno.mailbox.message import Message, SubscriptionRef
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, ids, lapse, put

LIVE = "select count(*) from mailbox.work where state = 'leased'"


def of(subscription: str, **fields: object) -> Message:
    return message(subscription=SubscriptionRef(subscription, 1), **fields)


async def limit(pool: AnyPool, most: int | None) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await limits.set_concurrency(conn, "acme", "triage", most)


async def test_an_agents_limit_holds_and_every_end_frees_its_slot(pool: AnyPool, mailbox: Mailbox) -> None:
    await limit(pool, 2)
    await put(pool, *(message() for _ in range(5)))
    first, second = await claim(mailbox)
    assert await claim(mailbox) == []
    await ack(mailbox, first)
    third = await claim_one(mailbox)
    assert await claim(mailbox) == []
    await mailbox.release([ReleaseItem(second.lease.token, "busy")])
    fourth = await claim_one(mailbox, lease_seconds=0.02)
    await lapse(pool, fourth.lease.token)
    assert await claim(mailbox) == []
    await Reaper(pool).sweep()
    await claim_one(mailbox)
    assert third.lease.token < fourth.lease.token


async def test_a_limit_that_comes_later_counts_what_is_live_already(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(message() for _ in range(4)))
    [first, *_] = await claim(mailbox, 2)
    await limit(pool, 2)
    assert await claim(mailbox) == []
    await ack(mailbox, first)
    assert len(await claim(mailbox)) == 1
    await limit(pool, None)
    assert len(await claim(mailbox)) == 1


async def test_q29_q33_no_limit_is_exceeded_by_many_claimers_at_once(pool: AnyPool, mailbox: Mailbox) -> None:
    """Q29, Q33: claimers that count first and claim then would exceed it."""
    await limit(pool, 3)
    await put(pool, *(message() for _ in range(60)))
    seen: list[int] = []
    done = 0

    async def claimer() -> None:
        nonlocal done
        while done < 60:
            for got in await claim(mailbox, 2):
                seen.append(await pool.fetchval(LIVE))
                await ack(mailbox, got)
                done += 1

    await asyncio.gather(*(claimer() for _ in range(6)))
    assert max(seen) <= 3
    assert done == 60


@pytest.mark.parametrize("most", [-1, 10_001])
async def test_an_absurd_limit_is_refused_by_name(pool: AnyPool, most: int) -> None:
    with pytest.raises(ValueError, match=r"^concurrency: expected"):
        await limit(pool, most)


async def test_one_of_a_serial_key_at_a_time_in_order(pool: AnyPool, mailbox: Mailbox) -> None:
    keyed = [message(serial_key="c1") for _ in range(3)]
    other = message(serial_key="c2")
    for one in (*keyed, other):
        await put(pool, one)
    got = await claim(mailbox)
    assert ids(got) == [keyed[0].id, other.id]
    assert await claim(mailbox) == []
    await ack(mailbox, got[0])
    assert (await claim_one(mailbox)).id == keyed[1].id


async def test_q43_a_released_head_blocks_its_key_until_it_is_retried(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    """Q43: order is kept after a lease that ended otherwise."""
    first, second = message(serial_key="c1"), message(serial_key="c1")
    await put(pool, first, second)
    head = await claim_one(mailbox)
    await mailbox.release([ReleaseItem(head.lease.token, "not_started")])
    again = await claim_one(mailbox, lease_seconds=0.02)
    assert again.id == first.id
    await lapse(pool, again.lease.token)
    await Reaper(pool).sweep()
    assert (await claim_one(mailbox)).id == first.id
    assert await claim(mailbox) == []


async def test_a_dead_head_lets_the_next_forward(pool: AnyPool, mailbox: Mailbox) -> None:
    first, second = message(serial_key="c1"), message(serial_key="c1")
    await put(pool, first, second)
    head = await claim_one(mailbox)
    [answer] = await mailbox.release([ReleaseItem(head.lease.token, "rejected")])
    assert answer.state == "dead"
    assert (await claim_one(mailbox)).id == second.id


async def test_a_next_that_is_locked_is_let_forward_by_the_reaper(pool: AnyPool, mailbox: Mailbox) -> None:
    first, second = message(serial_key="c1"), message(serial_key="c1")
    await put(pool, first, second)
    head = await claim_one(mailbox)
    async with pool.acquire() as conn, conn.transaction():
        await conn.execute("select 1 from mailbox.work where id = $1 for update", second.id)
        await ack(mailbox, head)
    assert await claim(mailbox) == []
    await Reaper(pool).sweep()
    assert (await claim_one(mailbox)).id == second.id


async def test_joining_and_leaving_a_line_at_once_loses_nobody(pool: AnyPool, mailbox: Mailbox) -> None:
    handled: list[Claimed] = []

    async def producer() -> None:
        for _ in range(40):
            await put(pool, message(serial_key="c1"))

    async def consumer() -> None:
        while len(handled) < 80:
            for got in await claim(mailbox, 5):
                assert (await ack(mailbox, got))[0].status is Status.OK
                handled.append(got)
            await Reaper(pool).sweep()

    await asyncio.gather(producer(), producer(), consumer())
    assert len({one.id for one in handled}) == 80


@pytest.mark.parametrize(("others", "size"), [(1, 1), (4, 2), (9, 10)])
async def test_a_small_subscription_is_served_beside_a_flood_within_the_bound(
    pool: AnyPool, mailbox: Mailbox, others: int, size: int
) -> None:
    """A skew of 1000 to 1: ceil(active subscriptions / max) + 1 claim rounds (contract §4)."""
    for flood in range(others):
        await put(pool, *(of(f"flood-{flood}") for _ in range(1000 if flood == 0 else 50)))
    await ack(mailbox, *await claim(mailbox, 20))
    small = of("small")
    await put(pool, small)
    bound = -(-(others + 1) // size) + 1
    for _ in range(bound):
        got = await claim(mailbox, size)
        await ack(mailbox, *got)
        if small.id in ids(got):
            return
    pytest.fail(f"not served within {bound} rounds")


async def test_who_was_served_much_while_alone_owes_nothing(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(of("busy") for _ in range(200)))
    await ack(mailbox, *await claim(mailbox, 200))
    await put(pool, *(of("fresh") for _ in range(100)))
    mine = of("busy")
    await put(pool, mine)
    assert mine.id in ids(await claim(mailbox, 3))


async def test_q49_low_priority_ages_until_it_is_served(pool: AnyPool, mailbox: Mailbox) -> None:
    """Q49: a bound, not a hope."""
    low = of("low", priority=0)
    await put(pool, low)
    for _ in range(40):
        await put(pool, *(of("high", priority=1) for _ in range(3)))
        got = await claim(mailbox, 2)
        await ack(mailbox, *got)
        if low.id in ids(got):
            return
    pytest.fail("starved")


async def test_a_flood_of_one_tenant_costs_another_nothing(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(message() for _ in range(1000)))
    await put(pool, message(tenant="globex"))
    assert len(await mailbox.claim("globex", "triage", max=1, incarnation="w")) == 1
