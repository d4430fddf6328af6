"""Short moves on a mailbox for its tests."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import AckItem, Answer, Claimed
from sereno.mailbox.message import Message
from sereno.mailbox.verbs import Mailbox
from tests.waiting import until


async def put(pool: AnyPool, *messages: Message) -> None:
    """Deposit them in one transaction."""
    async with pool.acquire() as conn, conn.transaction():
        await deposit(conn, messages)


async def claim(mailbox: Mailbox, count: int = 10, **arguments: Any) -> list[Claimed]:
    """Claim from the mailbox of `triage` in `acme`."""
    given: dict[str, Any] = {"max": count, "incarnation": "w1"}
    return await mailbox.claim("acme", "triage", **(given | arguments))


async def claim_one(mailbox: Mailbox, **arguments: Any) -> Claimed:
    """Claim what must be there."""
    # On a busy machine a look from the beginning may have to wait its turn.
    [claimed] = await claim(mailbox, 1, **({"wait_seconds": 10} | arguments))
    return claimed


async def ack(mailbox: Mailbox, *claimed: Claimed) -> list[Answer]:
    """Close what was claimed."""
    return await mailbox.ack([AckItem(one.lease.token) for one in claimed])


def ids(claimed: Sequence[Claimed]) -> list[UUID]:
    """Which messages these are."""
    return [one.id for one in claimed]


async def lapse(pool: AnyPool, token: int) -> None:
    """Wait until the lease of this token is over by the database's clock."""

    async def over() -> bool:
        sql = "select leased_until <= clock_timestamp() from mailbox.work where token = $1"
        return bool(await pool.fetchval(sql, token))

    await until(over)
