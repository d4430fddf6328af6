"""The stop in the data path, and the epoch of tokens."""

import asyncio
from typing import Any

import pytest

from sereno.mailbox import epoch, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.lease_items import RenewItem, Status
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, put

WHO: dict[str, Any] = {"reason": "drill", "principal": "user:marta"}


@pytest.mark.parametrize("scope", ["*", "acme"])
async def test_nothing_is_claimed_while_a_stop_stands(pool: AnyPool, mailbox: Mailbox, scope: str) -> None:
    await put(pool, message(), message(tenant="globex"))
    held = await claim_one(mailbox)
    await put(pool, message())
    assert (await stop.engage(pool, scope, **WHO)).in_flight == ()
    assert await claim(mailbox) == []
    assert len(await mailbox.claim("globex", "triage", max=1, incarnation="w")) == (scope != "*")
    assert (await ack(mailbox, held))[0].status is Status.OK
    assert await stop.backlog(pool, "acme") == 1
    async with pool.acquire() as conn, conn.transaction():
        assert await stop.stopped(conn, ["acme"]) == {"acme"}
    assert await stop.release(pool, scope)
    assert not await stop.release(pool, scope)
    assert len(await claim(mailbox)) == 1


async def test_no_token_is_given_out_after_a_stop_returned(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(message() for _ in range(600)))
    stopping = asyncio.Event()

    async def claimer() -> None:
        while not stopping.is_set():
            await claim(mailbox, 2)

    claimers = [asyncio.create_task(claimer()) for _ in range(4)]
    for _ in range(5):
        await stop.engage(pool, "*", **WHO)
        last = await pool.fetchval("select max(token) from mailbox.work")
        for _ in range(3):
            await asyncio.sleep(0)
            assert await pool.fetchval("select max(token) from mailbox.work") == last
        await stop.release(pool, "*")
    stopping.set()
    await asyncio.gather(*claimers)


async def test_a_stop_names_who_is_still_in_flight(pool: AnyPool) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await stop.stopped(conn, ["acme"])
        engaged = await stop.engage(pool, "*", barrier_seconds=0.2, **WHO)
        assert [one["application_name"] for one in engaged.in_flight] == ["tests"]


@pytest.mark.req(32)
async def test_after_the_epoch_rose_every_token_is_above_all_before(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(), message())
    old = await claim_one(mailbox)
    assert await epoch.raise_epoch(pool) == 2
    await pool.execute("select setval('mailbox.token_sequence', 1)")
    new = await claim_one(mailbox)
    assert new.lease.token > old.lease.token
    assert (await mailbox.renew([RenewItem(old.lease.token)]))[0].status is Status.OK


async def test_a_changed_timeline_under_the_same_epoch_refuses_to_start(pool: AnyPool) -> None:
    await epoch.guard(pool)
    await epoch.guard(pool)
    await pool.execute("update mailbox.token_epoch set timeline = timeline + 1")
    with pytest.raises(epoch.TimelineChangedError, match="sereno restore"):
        await epoch.guard(pool)
    await epoch.raise_epoch(pool)
    await epoch.guard(pool)
