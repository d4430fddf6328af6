"""What pausing, suspending and deleting a subscription does to its messages (contract §2)."""

import pytest

from sereno.mailbox import standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import AckItem, Answer, Claimed, ReleaseItem, RenewItem, Status
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake
from tests.mailbox_messages import message

NAME = "refund-watch"


@pytest.fixture
async def leased(pool: AnyPool, mailbox: Mailbox) -> Claimed:
    """One of two messages of a subscription is in a holder's hands; a third is another subscription's."""
    async with pool.acquire() as conn:
        await deposit(
            conn, [message(), message(), message(subscription=SubscriptionRef("other", 1), priority=-1)]
        )
    [got] = await claim(mailbox, max=1)
    return got


async def claim(mailbox: Mailbox, *, max: int = 10) -> list[Claimed]:  # noqa: A002
    return await mailbox.claim("acme", "triage", max=max, incarnation="w1")


async def renew(mailbox: Mailbox, got: Claimed) -> Answer:
    [answer] = await mailbox.renew([RenewItem(got.lease.token)])
    return answer


async def test_a_pause_keeps_messages_and_cancels_holders(
    pool: AnyPool, mailbox: Mailbox, leased: Claimed
) -> None:
    async with pool.acquire() as conn:
        assert await standing.hold(conn, "acme", NAME, "paused") == 2
        assert await standing.hold(conn, "acme", NAME, "paused") == 0
    assert [got.subscription.name for got in await claim(mailbox)] == ["other"]
    assert [answer.status for answer in await mailbox.check([leased.lease.token])] == [Status.CANCELLED]
    answer = await renew(mailbox, leased)
    assert (answer.status, answer.state) == (Status.CANCELLED, "ready")
    [late] = await mailbox.ack([AckItem(leased.lease.token)])
    assert late.status is Status.CANCELLED
    assert await claim(mailbox) == []
    async with pool.acquire() as conn:
        assert await standing.unhold(conn, "acme", NAME, "paused") == {("acme", "triage")}
    again = await claim(mailbox)
    assert [(got.subscription.name, got.attempts) for got in again] == [(NAME, 1), (NAME, 1)]


async def test_a_holder_that_was_not_told_yet_goes_on_after_the_pause(
    pool: AnyPool, mailbox: Mailbox, leased: Claimed
) -> None:
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", NAME, "paused")
        await standing.unhold(conn, "acme", NAME, "paused")
    assert (await renew(mailbox, leased)).status is Status.OK


async def test_a_suspension_keeps_messages_and_lets_holders_finish(
    pool: AnyPool, mailbox: Mailbox, leased: Claimed
) -> None:
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", NAME, "sus_1", cancel=False)
    assert [got.subscription.name for got in await claim(mailbox)] == ["other"]
    assert (await renew(mailbox, leased)).status is Status.OK
    [done] = await mailbox.ack([AckItem(leased.lease.token)])
    assert done.status is Status.OK


async def test_two_causes_must_both_go(pool: AnyPool, mailbox: Mailbox, leased: Claimed) -> None:
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", NAME, "paused")
        await standing.hold(conn, "acme", NAME, "sus_1", cancel=False)
        await standing.unhold(conn, "acme", NAME, "paused")
        assert [got.subscription.name for got in await claim(mailbox)] == ["other"]
        await standing.unhold(conn, "acme", NAME, "sus_1")
    assert [got.subscription.name for got in await claim(mailbox)] == [NAME]


async def test_what_a_person_deleted_is_dead_and_its_holder_is_told(
    pool: AnyPool, mailbox: Mailbox, leased: Claimed
) -> None:
    async with pool.acquire() as conn:
        assert await standing.withdraw(conn, "acme", NAME) == 2
        assert await standing.withdraw(conn, "acme", NAME) == 0
    assert [got.subscription.name for got in await claim(mailbox)] == ["other"]
    answer = await renew(mailbox, leased)
    assert (answer.status, answer.state) == (Status.CANCELLED, "dead")
    rows = await pool.fetch("select state, reason, attempts from mailbox.standing where state = 'dead'")
    assert [tuple(row) for row in rows] == [("dead", "withdrawn", 0)] * 2
    assert await pool.fetchval("select count(*) from mailbox.notice") == 0


async def test_an_acknowledgement_before_the_holder_was_told_is_recorded(
    pool: AnyPool, mailbox: Mailbox, leased: Claimed
) -> None:
    async with pool.acquire() as conn:
        await standing.withdraw(conn, "acme", NAME)
    [done] = await mailbox.ack([AckItem(leased.lease.token, "sent")])
    assert (done.status, done.state) == (Status.OK, "acked")


async def test_withdrawn_work_that_is_given_back_is_dead(
    pool: AnyPool, mailbox: Mailbox, leased: Claimed
) -> None:
    async with pool.acquire() as conn:
        await standing.withdraw(conn, "acme", NAME)
    [answer] = await mailbox.release([ReleaseItem(leased.lease.token, "not_started")])
    assert answer.state == "dead"


async def test_age_stands_still_while_held(pool: AnyPool, mailbox: Mailbox, leased: Claimed) -> None:
    await mailbox.release([ReleaseItem(leased.lease.token, "not_started")])
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", NAME, "paused")
        await conn.execute(
            "update mailbox.work set still_since = still_since - interval '2 days',"
            " give_up_at = give_up_at - interval '2 days' where id = $1",
            leased.id,
        )
        await Reaper(pool).sweep()
        await standing.unhold(conn, "acme", NAME, "paused")
    assert leased.id in [got.id for got in await claim(mailbox)]


async def test_resumed_messages_wake_waiting_claims(pool: AnyPool, leased: Claimed) -> None:
    wake = Wake(None)
    mailbox = Mailbox(pool, wake=wake, poll_seconds=60)
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", NAME, "paused")
    await claim(mailbox)
    async with wake.listen("acme", "triage") as hinted, pool.acquire() as conn:
        await wake.publish(await standing.unhold(conn, "acme", NAME, "paused"))
        assert hinted.is_set()
