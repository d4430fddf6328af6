"""The stop in the data path, and the epoch of tokens."""

import asyncio
import os
from typing import Any

import pytest

from sereno.execution_plane.agent_events import AgentEvents
from sereno.mailbox import epoch, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.engine import queries
from sereno.mailbox.lease_items import EmitItem, ReleaseItem, RenewItem, Status
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.rebuild import compare
from sereno.mailbox.scope import FAMILIES, Scope
from sereno.mailbox.verbs import Mailbox
from tests.flooding import flood
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, lapse, put

VERBS = queries.load("sereno.mailbox", "verbs.sql")
WHO: dict[str, Any] = {"reason": "drill", "principal": "user:marta"}


SCOPES = [
    "*", "acme", "acme/agent/triage", "acme/subscription/refund-watch", "acme/connector/mail", "acme/family/mcp",
    "*/family/mcp",
]  # fmt: skip
DEAD = "select reason, count(*) from mailbox.dead group by 1"
FROM_MAIL: dict[str, Any] = {"context": {"source": "mcp/mail"}}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_stop_keeps_messages_tells_holders_and_records_what_they_finish(
    pool: AnyPool, mailbox: Mailbox, scope: str
) -> None:
    elsewhere = message(tenant="globex"), message(agent="other", subscription=SubscriptionRef("other", 1))
    await put(pool, message(**FROM_MAIL), message(**FROM_MAIL), *elsewhere)
    told, finishes = await claim(mailbox)
    await put(pool, message(**FROM_MAIL))
    assert (await stop.engage(pool, scope, **WHO)).in_flight == ()
    assert await claim(mailbox) == []
    outside = await mailbox.claim("globex", "triage", max=1, incarnation="w")
    assert len(outside) == (scope != "*")
    beside = await mailbox.claim("acme", "other", max=1, incarnation="w")
    assert len(beside) == ("/" in scope)
    assert (await mailbox.check([told.lease.token]))[0].status is Status.CANCELLED
    emitting = Mailbox(pool, emitter=AgentEvents(os.urandom))
    [said] = await emitting.emit([EmitItem(told.lease.token, "com.acme.said")])
    assert said.status is Status.CANCELLED
    [answer] = await mailbox.renew([RenewItem(told.lease.token)])
    assert (answer.status, answer.state) == (Status.CANCELLED, "ready")
    assert (await ack(mailbox, finishes))[0].status is Status.OK
    assert await claim(mailbox) == []
    assert [one["scope"] for one in await stop.in_force(pool)] == [scope]
    async with pool.acquire() as conn, conn.transaction():
        assert list(map(str, await stop.scopes(conn, ["acme"]))) == [scope]
    assert await stop.backlog(pool, scope) == {"*": 4, "acme": 3}.get(scope, 2)
    assert await stop.release(pool, scope) == {("acme", "triage")}
    assert await stop.release(pool, scope) is None
    # A look from the beginning finds them all, whatever this process claimed before.
    again = await claim(Mailbox(pool))
    assert [one.attempts for one in again] == [1, 1]
    assert await compare(pool) == []


@pytest.mark.parametrize("scope", SCOPES[1:])
async def test_what_comes_back_under_a_stop_is_held_too(pool: AnyPool, mailbox: Mailbox, scope: str) -> None:
    await put(pool, message(**FROM_MAIL))
    await mailbox.release([ReleaseItem((await claim_one(mailbox)).lease.token, "rejected")])
    await stop.engage(pool, scope, **WHO)
    assert await mailbox.redrive("acme", Filter(), reason="again", principal="user:marta") == 1
    assert await claim(mailbox) == []
    assert await stop.release(pool, scope) is not None
    assert len(await claim(mailbox)) == 1


async def test_age_stands_still_under_a_stop(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(max_age_seconds=0.2))
    got = await claim_one(mailbox, lease_seconds=0.02)
    await stop.engage(pool, "*", **WHO)
    await lapse(pool, got.lease.token)
    await pool.execute(
        "update mailbox.work set still_since = still_since - interval '1 day',"
        " give_up_at = give_up_at - interval '1 day'"
    )
    await Reaper(pool).sweep()
    await stop.release(pool, "*")
    assert await pool.fetchval("select count(*) from mailbox.dead") == 0


async def test_a_claim_that_the_barrier_did_not_see_is_told_at_the_next_look(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message())
    async with pool.acquire() as conn, conn.transaction():
        row = await conn.fetchrow(VERBS["claim"], "acme", "triage", 1, None, "w", "w", None)
        assert row is not None
        engaged = await stop.engage(pool, "acme", barrier_seconds=0.1, **WHO)
        assert len(engaged.in_flight) == 1
    await Reaper(pool).sweep()
    assert (await mailbox.renew([RenewItem(row["tokens"][0])]))[0].status is Status.CANCELLED


@pytest.mark.parametrize(
    "scope", ["", "acme/", "acme/agent/", "acme/family/x", "*/agent/x", "a/agent/b/c", "/agent/x"]
)
async def test_a_scope_that_is_none_is_refused_by_name(pool: AnyPool, scope: str) -> None:
    with pytest.raises(ValueError, match=r"^scope: expected"):
        await stop.engage(pool, scope, **WHO)
    assert await stop.in_force(pool) == []


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
        await stop.scopes(conn, ["acme"])
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


async def test_statements_see_the_same_scopes_as_the_guards(pool: AnyPool) -> None:
    names = ["*", "acme", "*/family/mcp", "*/family/time", "globex"]
    names += [f"acme/{kind}/{name}" for kind in ("agent", "subscription", "connector") for name in ("a", "b")]
    names += [f"acme/family/{family}" for family in FAMILIES]
    for source in ("mcp/a", "time/b", "webhook/a", "platform"):
        found = await pool.fetchval("select mailbox.scopes_over('acme', 'a', 'b', $1)", source)
        covering = {name for name in names if Scope.parse(name).covers("acme", "a", "b", source)}
        assert set(found) & set(names) == covering
        assert all(Scope.parse(name).covers("acme", "a", "b", source) for name in found)


@pytest.mark.parametrize("scope", ["*", "acme/agent/triage"])
async def test_the_end_of_a_stop_drops_or_keeps_what_waited_as_it_is_told(
    pool: AnyPool, mailbox: Mailbox, scope: str
) -> None:
    await put(pool, message(), message(), message(serial_key="k"), message(serial_key="k"))
    held = await claim_one(mailbox)
    await stop.engage(pool, scope, **WHO)
    assert await stop.release(pool, scope, choice="review", principal="user:marta", reason="look") == set()
    assert await claim(mailbox) == []
    assert [one["scope"] for one in await stop.in_review(pool)] == [scope]
    await put(pool, fresh := message())
    assert [one.id for one in await claim(mailbox)] == [fresh.id], "what is new goes on"
    assert await stop.release(pool, scope, choice="drop", principal="user:marta", reason="old") is not None
    assert await claim(mailbox) == []
    assert [tuple(row) for row in await pool.fetch(DEAD)] == [("stopped", 3)]
    assert (await ack(mailbox, held))[0].status is Status.OK
    assert await stop.in_review(pool) == []
    assert await compare(pool) == []


async def test_nothing_is_claimed_or_said_after_a_stop_returned_beside_eight_workers_and_a_flood(
    pool: AnyPool,
) -> None:
    found = await flood(pool, stops=3)
    assert found.claimed > 0
    assert found.emitted > 0
    assert found.late == 0, found.sentence
