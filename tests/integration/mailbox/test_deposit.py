"""The deposit: what is there already is left alone, and lines keep the order in which they were deposited."""

import asyncio

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, ids, put
from tests.waiting import until

COUNTS = "select (select count(*) from mailbox.message), (select count(*) from mailbox.work)"


async def test_a_message_is_deposited_once_however_often_it_comes(pool: AnyPool, mailbox: Mailbox) -> None:
    first, second = message(), message(serial_key="k")
    await put(pool, first, second, first)
    await put(pool, second, first)
    assert tuple(await pool.fetchrow(COUNTS) or ()) == (2, 2)
    assert len(await ack(mailbox, *await claim(mailbox))) == 2
    await put(pool, first, second)
    assert await claim(mailbox) == []


async def test_of_two_that_deposit_the_same_at_once_the_second_finds_it(pool: AnyPool) -> None:
    """It waits for the first to commit, and is then as idempotent as one that comes later."""
    same, more = message(), message()
    async with pool.acquire() as one, pool.acquire() as other:
        transaction = one.transaction()
        await transaction.start()
        await deposit(one, [same])
        second = asyncio.create_task(deposit(other, [same, more]))
        waiting = "select exists (select from pg_locks where not granted and pid = $1)"
        await until(lambda: pool.fetchval(waiting, other.get_server_pid()))
        await transaction.commit()
        await second
    assert tuple(await pool.fetchrow(COUNTS) or ()) == (2, 2)


async def test_a_line_keeps_the_order_of_its_deposit_over_subscriptions(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    messages = [
        message(serial_key="k", subscription=SubscriptionRef(name, 1), priority=priority)
        for name, priority in (("zebra", 0), ("ant", 5), ("zebra", 9), ("bee", 0))
    ]
    await put(pool, *messages)
    done = []
    while claimed := await claim(mailbox):
        done += ids(claimed)
        await ack(mailbox, *claimed)
    assert done == [one.id for one in messages]
