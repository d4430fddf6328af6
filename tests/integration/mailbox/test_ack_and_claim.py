"""Acknowledging and claiming in one call: each half is what it is alone, and both are one transaction."""

import asyncio

import pytest

from sereno.mailbox import limits, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.lease_items import AckItem, Answer, Claimed, Status
from sereno.mailbox.principal import Principal
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, ids, lapse, put
from tests.mailbox_reading import events, outcomes


async def both(mailbox: Mailbox, *tokens: int, most: int = 10) -> tuple[list[Answer], list[Claimed]]:
    items = [AckItem(token, {"token": token}) for token in tokens]
    return await mailbox.ack_and_claim(items, "acme", "triage", max=most, incarnation="w1")


async def test_what_is_done_is_closed_and_the_next_is_leased(pool: AnyPool, mailbox: Mailbox) -> None:
    messages = [message() for _ in range(5)]
    await put(pool, *messages)
    first = await claim(mailbox, 2)
    answers, second = await both(mailbox, *(one.lease.token for one in reversed(first)))
    assert [answer.token for answer in answers] == [one.lease.token for one in reversed(first)]
    assert {(answer.status, answer.state) for answer in answers} == {(Status.OK, "acked")}
    assert ids(second) == [one.id for one in messages[2:]]
    assert {event["data"]["result"]["token"] for event in await events(pool, "acked")} == {
        one.lease.token for one in first
    }
    answers, third = await both(mailbox, *(one.lease.token for one in second))
    assert {answer.status for answer in answers} == {Status.OK}
    assert third == []
    assert [state for state, _, _ in await outcomes(pool)] == ["acked"] * 5


async def test_a_token_that_is_not_live_is_refused_and_keeps_nothing_from_being_claimed(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message(), message(), message())
    both_late = await claim(mailbox, 2, lease_seconds=0.02)
    for one in both_late:
        await lapse(pool, one.lease.token)
    await Reaper(pool).sweep()
    live = await claim_one(mailbox)
    [mine] = await claim(mailbox, 1)
    old = {one.id: one.lease.token for one in both_late}
    stale = [old[one.id] for one in (live, mine) if one.id in old]
    expired = [token for token in old.values() if token not in stale]
    answers, claimed = await both(mailbox, *stale, *expired, live.lease.token, live.lease.token + 99)
    assert [answer.status for answer in answers] == [
        *[Status.STALE] * len(stale),
        *[Status.EXPIRED] * len(expired),
        Status.OK,
        Status.UNKNOWN,
    ]
    # What came back lies before the last claimed, where claims look now and then.
    assert len(claimed or [await claim_one(mailbox)]) == 1
    refusals = [event["data"]["refusal"] for event in await events(pool, "refused")]
    assert sorted(refusals) == ["expired_ack"] * len(expired) + ["stale_ack"] * len(stale)


@pytest.mark.req(26)
async def test_what_stands_still_is_acknowledged_but_not_claimed(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(), message())
    held = await claim_one(mailbox)
    await stop.engage(pool, "acme", reason="drill", principal="user:marta")
    answers, claimed = await both(mailbox, held.lease.token)
    assert [answer.status for answer in answers] == [Status.OK]
    assert claimed == []
    await stop.release(pool, "acme")
    assert len(await claim(mailbox)) == 1


async def test_the_slot_and_the_line_of_what_is_done_are_free_for_what_is_claimed(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await limits.set_concurrency(conn, "acme", "triage", 1)
    messages = [message(serial_key="k") for _ in range(3)]
    await put(pool, *messages)
    [held] = await claim(mailbox)
    for expected in messages[1:]:
        answers, [held] = await both(mailbox, held.lease.token)
        assert [answer.status for answer in answers] == [Status.OK]
        assert held.id == expected.id
    assert await claim(mailbox) == []
    await ack(mailbox, held)


async def test_who_may_not_name_a_lease_acknowledges_nothing(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(), message())
    held = await claim_one(mailbox)
    other = Principal("agent:other", "acme", frozenset({"other"}))
    [answer], claimed = await mailbox.ack_and_claim(
        [AckItem(held.lease.token)], "acme", "other", incarnation="w2", principal=other
    )
    assert answer.status is Status.UNKNOWN
    assert claimed == []
    assert len(await events(pool, "acked")) == 0


async def test_busy_workers_do_each_message_once_and_never_exceed_the_limit(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await limits.set_concurrency(conn, "acme", "triage", 12)
    messages = [message(serial_key=f"k{n % 7}" if n % 3 == 0 else None) for n in range(240)]
    await put(pool, *messages)
    done: list[Claimed] = []
    most = 0

    async def work() -> None:
        nonlocal most
        while len(done) < len(messages):
            claimed = await claim(mailbox, 5, wait_seconds=0.1)
            while claimed:
                live = "select count(*) from mailbox.work where state = 'leased'"
                most = max(most, await pool.fetchval(live))
                done.extend(claimed)
                answers, claimed = await both(mailbox, *(one.lease.token for one in claimed), most=5)
                assert {answer.status for answer in answers} == {Status.OK}

    async with asyncio.timeout(90):
        await asyncio.gather(*(work() for _ in range(4)))
    assert sorted(ids(done)) == sorted(one.id for one in messages)
    assert most <= 12
    assert await pool.fetchval("select count(*) from mailbox.work") == 0
