"""Dead letters: ended and brought back by people, counted first."""

from typing import Any

import pytest

from sereno.mailbox import standing, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.lease_items import ReleaseItem, RenewItem, Status
from sereno.mailbox.rebuild import compare
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, put

MARTA: dict[str, Any] = {"reason": "fixed", "principal": "user:marta"}


async def kill(mailbox: Mailbox) -> int:
    claimed = await claim_one(mailbox)
    await mailbox.release([ReleaseItem(claimed.lease.token, "rejected")])
    return claimed.lease.token


async def test_a_redriven_message_starts_a_run_anew(pool: AnyPool, mailbox: Mailbox) -> None:
    one = message(max_attempts=1)
    await put(pool, one)
    old = await kill(mailbox)
    assert await mailbox.redrive("acme", Filter(reason="rejected"), preview=True, **MARTA) == 1
    assert await mailbox.redrive("acme", Filter(reason="deadline"), **MARTA) == 0
    assert await mailbox.redrive("acme", Filter(agent="triage", ids=[one.id]), **MARTA) == 1
    again = await claim_one(mailbox)
    assert (again.id, again.attempts) == (one.id, 1)
    assert again.lease.token > old
    assert [a.status for a in await mailbox.check([old])] == [Status.STALE]
    await ack(mailbox, again)
    runs = await pool.fetch("select distinct run_id from mailbox.history where kind in ('died', 'acked')")
    assert len(runs) == 2


async def test_redriven_messages_of_a_key_stand_in_line_again(pool: AnyPool, mailbox: Mailbox) -> None:
    first, second = message(serial_key="c1"), message(serial_key="c1")
    await put(pool, first, second)
    await kill(mailbox)
    await mailbox.redrive("acme", Filter(), **MARTA)
    head = await claim_one(mailbox)
    assert head.id == second.id
    assert await claim(mailbox) == []
    await ack(mailbox, head)
    assert (await claim_one(mailbox)).id == first.id


@pytest.mark.parametrize("scope", ["acme/agent/triage", "acme/subscription/refund-watch"])
async def test_what_comes_back_under_a_narrow_stop_is_held_by_it(
    pool: AnyPool, mailbox: Mailbox, scope: str
) -> None:
    await put(pool, message())
    await kill(mailbox)
    await stop.engage(pool, scope, **MARTA)
    assert await mailbox.redrive("acme", Filter(), **MARTA) == 1
    assert await claim(mailbox) == []
    assert await compare(pool) == []
    await stop.release(pool, scope)
    assert len(await claim(mailbox)) == 1


async def test_what_comes_back_to_a_paused_subscription_is_held_until_it_goes_on(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message())
    await kill(mailbox)
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", "refund-watch", "paused")
        await standing.hold(conn, "acme", "refund-watch", "sus_1", cancel=False)
    assert await mailbox.redrive("acme", Filter(), **MARTA) == 1
    assert await claim(mailbox) == []
    assert await compare(pool) == []
    for cause in ("paused", "sus_1"):
        assert await claim(mailbox) == []
        async with pool.acquire() as conn:
            await standing.unhold(conn, "acme", "refund-watch", cause)
    assert len(await claim(mailbox)) == 1


async def test_what_comes_back_to_a_withdrawn_name_is_not_held_for_its_past(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message())
    await kill(mailbox)
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", "refund-watch", "paused")
        await standing.withdraw(conn, "acme", "refund-watch")
    assert await mailbox.redrive("acme", Filter(), **MARTA) == 1
    assert len(await claim(mailbox)) == 1


async def test_people_end_open_messages_and_holders_are_told(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(), message(), message())
    told, finishes = await claim(mailbox, 2)
    assert await mailbox.dead_letter("acme", Filter(), preview=True, **MARTA) == 3
    assert await mailbox.dead_letter("acme", Filter(), **MARTA) == 3
    assert await mailbox.dead_letter("acme", Filter(), **MARTA) == 0
    assert await pool.fetchval("select reason from mailbox.dead") == "fixed"
    assert (await ack(mailbox, finishes))[0].status is Status.OK
    [answer] = await mailbox.renew([RenewItem(told.lease.token)])
    assert (answer.status, answer.state) == (Status.CANCELLED, "dead")
    assert await pool.fetchval("select count(*) from mailbox.dead where reason = 'fixed'") == 2
    assert await compare(pool) == []
