"""What the mailbox is measured against, and the mailbox itself: each deposits a number of jobs and drains them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from sereno.deploy import database
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.lease_items import AckItem, Status
from sereno.mailbox.message import Message, SubscriptionRef
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message

BODY = "x" * 256
SUBSCRIPTIONS = 8
LOOPS = 2
_FLOOR = queries.load("tests.benchmarks", "floor.sql")


class Contender(Protocol):
    """One queue in a database of its own; `setting` says with which batch and concurrency it runs."""

    name: str
    setting: str

    async def open(self, dsn: str) -> None:
        """Make its schema in the empty database `dsn` and connect."""

    async def deposit(self, count: int, batch: int) -> None:
        """Put in that many jobs, so many at a time, one transaction each."""

    async def drain(self, count: int) -> None:
        """Take and finish all of them; raises AssertionError when it is another number."""

    async def close(self) -> None:
        """Let the server go."""


class Floor:
    """Two hand-written statements and nothing else."""

    def __init__(self, batch: int) -> None:
        self.name = f"floor/{batch}"
        self.setting = f"claim by {batch}, {LOOPS} loops"
        self._batch = batch

    async def open(self, dsn: str) -> None:
        self._pool = await open_pool(dsn, application_name="bench", max_size=LOOPS)
        await self._pool.execute(_FLOOR["schema"])

    async def deposit(self, count: int, batch: int) -> None:
        for start in range(0, count, batch):
            await self._pool.execute(_FLOOR["deposit"], [BODY] * min(batch, count - start))

    async def drain(self, count: int) -> None:
        await _looped(self._round, count)

    async def _round(self) -> int:
        rows = await self._pool.fetch(_FLOOR["claim"], self._batch)
        if rows:
            await self._pool.execute(_FLOOR["ack"], [row["id"] for row in rows])
        return len(rows)

    async def close(self) -> None:
        await self._pool.close()


class Ours:
    """The mailbox through its own Python verbs, with everything on: stop, token, log, attempts, fairness, limits."""

    def __init__(self, batch: int, loops: int = LOOPS) -> None:
        self.name = f"sereno/{batch}"
        self.setting = f"claim by {batch}, {loops} loops, {SUBSCRIPTIONS} subscriptions"
        self._batch = batch
        self._loops = loops

    async def open(self, dsn: str) -> None:
        await database.prepare(dsn)
        self.pool: AnyPool = await open_pool(dsn, application_name="bench", max_size=self._loops)
        self.mailbox = Mailbox(self.pool)

    async def deposit(self, count: int, batch: int) -> None:
        for start in range(0, count, batch):
            async with self.pool.acquire() as conn, conn.transaction():
                await deposit(conn, [_message(n) for n in range(min(batch, count - start))])

    async def drain(self, count: int) -> None:
        done = sum(await asyncio.gather(*(self._loop() for _ in range(self._loops))))
        assert done == count, f"{done} of {count}"

    async def _loop(self) -> int:
        """What a busy worker does: acknowledge what is done with the claim of what comes next."""
        total, asked = 0, {"max": self._batch, "incarnation": "bench"}
        claimed = await self.mailbox.claim("acme", "triage", **asked)
        while claimed:
            items = [AckItem(one.lease.token) for one in claimed]
            answers, claimed = await self.mailbox.ack_and_claim(items, "acme", "triage", **asked)
            assert all(answer.status is Status.OK for answer in answers)
            total += len(answers)
        return total

    async def close(self) -> None:
        await self.pool.close()


def _message(number: int) -> Message:
    envelope = {
        "id": str(number),
        "source": "/b",
        "type": "bench",
        "specversion": "1.0",
        "data": BODY[:190],
    }
    return message(envelopes=[envelope], subscription=SubscriptionRef(f"s{number % SUBSCRIPTIONS}", 1))


async def _looped(one: Callable[[], Awaitable[int]], count: int) -> None:
    async def loop() -> int:
        total = 0
        while took := await one():
            total += took
        return total

    done = sum(await asyncio.gather(*(loop() for _ in range(LOOPS))))
    assert done == count, f"{done} of {count}"
