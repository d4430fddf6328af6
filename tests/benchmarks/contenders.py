"""What the mailbox is measured against, and the mailbox itself: each deposits a number of jobs and drains them."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from sereno.deploy import database
from sereno.envelope.identifiers import uuid7
from sereno.execution_plane.pipeline.columns import copy
from sereno.execution_plane.pipeline.store import DEDUP
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.lease_items import AckItem, Status
from sereno.mailbox.limits import set_concurrency
from sereno.mailbox.message import Message, SubscriptionRef
from sereno.mailbox.verbs import Mailbox

BODY = "x" * 256
SUBSCRIPTIONS = 8
LOOPS = 2
TENANT, AGENT = "acme", "triage"
_FLOOR = queries.load("tests.benchmarks", "floor.sql")


class Contender(Protocol):
    """One queue in a database of its own; `setting` says with which batch and concurrency it runs."""

    name: str
    setting: str

    async def open(self, dsn: str) -> None:
        """Make its schema in the empty database `dsn` and connect."""

    def make(self, count: int) -> Sequence[Any]:
        """That many jobs as the caller of its own interface has them, with a body of 256 bytes; not timed."""

    async def deposit(self, jobs: Sequence[Any], batch: int) -> None:
        """Put in these jobs, so many at a time, one transaction each."""

    async def drain(self, count: int) -> None:
        """Take and finish all of them; raises AssertionError when it is another number."""

    async def close(self) -> None:
        """Let the server go."""


class Floor:
    """Two hand-written statements and nothing else."""

    def __init__(self, batch: int, loops: int = LOOPS) -> None:
        self.name = f"floor/{batch}"
        self.setting = f"claim by {batch}, {loops} loops"
        self._batch = batch
        self._loops = loops

    async def open(self, dsn: str) -> None:
        self._pool = await open_pool(dsn, application_name="bench", max_size=self._loops)
        await self._pool.execute(_FLOOR["schema"])

    def make(self, count: int) -> Sequence[str]:
        return [BODY] * count

    async def deposit(self, jobs: Sequence[str], batch: int) -> None:
        for some in batches(jobs, batch):
            await self._pool.execute(_FLOOR["deposit"], some)

    async def drain(self, count: int) -> None:
        await looped(self._loop, self._loops, count)

    async def _loop(self) -> int:
        total = 0
        while rows := await self._pool.fetch(_FLOOR["claim"], self._batch):
            await self._pool.execute(_FLOOR["ack"], [row["id"] for row in rows])
            total += len(rows)
        return total

    async def close(self) -> None:
        await self._pool.close()


@dataclass(frozen=True, slots=True)
class Job:
    """A message, and the row of its dedup key as the guards decided it."""

    message: Message
    occurrence: tuple[Any, ...]


class Ours:
    """The mailbox through its own Python verbs, with everything on.

    Stop check, tokens, log, attempts, fairness over eight subscriptions, and a limit of the agent that is as high as
    what the loops can hold, unless it is measured without.
    """

    def __init__(self, batch: int, loops: int = LOOPS, *, limited: bool = True) -> None:
        self.name = f"sereno/{batch}"
        self._batch = batch
        self._loops = loops
        self._limit = loops * batch if limited else None
        self.setting = f"claim by {batch}, {loops} loops, {SUBSCRIPTIONS} subscriptions, limit {self._limit}"

    async def open(self, dsn: str) -> None:
        await database.prepare(dsn)
        self.pool: AnyPool = await open_pool(dsn, application_name="bench", max_size=self._loops)
        self.mailbox = Mailbox(self.pool)
        async with self.pool.acquire() as conn:
            await set_concurrency(conn, TENANT, AGENT, self._limit)

    def make(self, count: int) -> Sequence[Job]:
        return [_job(self._message(number)) for number in range(count)]

    def _message(self, number: int) -> Message:
        envelope = {
            "id": str(number),
            "source": "/b",
            "type": "bench",
            "specversion": "1.0",
            "data": BODY[:190],
        }
        return Message(
            uuid7(time.time_ns() // 1_000_000, os.urandom(10)),
            TENANT,
            AGENT,
            SubscriptionRef(f"s{number % SUBSCRIPTIONS}", 1),
            "Draft a reply.",
            [envelope],
        )

    async def deposit(self, jobs: Sequence[Job], batch: int) -> None:
        for some in batches(jobs, batch):
            async with self.pool.acquire() as conn, conn.transaction():
                await copy(conn, "dedup", DEDUP, [job.occurrence for job in some])
                await deposit(conn, [job.message for job in some])

    async def drain(self, count: int) -> None:
        await looped(self.loop, self._loops, count)

    async def loop(self, most: int | None = None) -> int:
        """What a busy worker does until it gets nothing, or has done `most`: how many it did."""
        done = 0
        claimed = await self.mailbox.claim(TENANT, AGENT, max=self._batch, incarnation="bench")
        while claimed:
            items = [AckItem(one.lease.token) for one in claimed]
            if most is not None and done + len(items) >= most:
                answers, claimed = await self.mailbox.ack(items), []
            else:
                answers, claimed = await self.mailbox.ack_and_claim(
                    items, TENANT, AGENT, max=self._batch, incarnation="bench"
                )
            assert all(answer.status is Status.OK for answer in answers)
            done += len(answers)
        return done

    async def close(self) -> None:
        await self.pool.close()


def _job(one: Message) -> Job:
    expires = datetime.now(UTC) + timedelta(days=1)
    return Job(one, (TENANT, "/b", one.subscription.name, str(one.id), one.id, "delivered", one.id, expires))


def batches(jobs: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The jobs in order, so many at a time."""
    return [jobs[start : start + size] for start in range(0, len(jobs), size)]


async def looped(one: Callable[[], Awaitable[int]], loops: int, count: int) -> None:
    """Run loops side by side until each finds nothing; raises AssertionError when they did another number."""
    done = sum(await asyncio.gather(*(one() for _ in range(loops))))
    assert done == count, f"{done} of {count}"
