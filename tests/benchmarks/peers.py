"""The peers of the mailbox, each through its own published interface and in its own best configuration."""

import asyncio
from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import Any

import asyncpg
import awa
import procrastinate
from pgqueuer.db import AsyncpgDriver
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from tests.benchmarks.contenders import BODY, batches

DRAIN_SECONDS = 120.0


class PgQueuer:
    """PgQueuer with its asyncpg driver, its queue manager in drain mode, and its batch insert."""

    def __init__(self, batch: int, workers: int = 1) -> None:
        self.name = f"pgqueuer/{batch}"
        self.setting = f"batch_size={batch}, {workers} managers, asyncpg driver, no limit on tasks"
        self._batch = batch
        self._workers = workers
        self._done = 0

    async def open(self, dsn: str) -> None:
        self._dsn = dsn
        self._conn = await asyncpg.connect(dsn)
        self._queries = Queries(AsyncpgDriver(self._conn))
        await self._queries.install()

    def make(self, count: int) -> Sequence[bytes]:
        return [BODY.encode()] * count

    async def deposit(self, jobs: Sequence[bytes], batch: int) -> None:
        for some in batches(jobs, batch):
            await self._queries.enqueue(["bench"] * len(some), list(some), [0] * len(some))

    async def drain(self, count: int) -> None:
        self._done = 0
        await asyncio.gather(*(self._manage() for _ in range(self._workers)))
        assert self._done == count, f"{self._done} of {count}"

    async def _manage(self) -> None:
        conn = await asyncpg.connect(self._dsn)
        manager = QueueManager(Queries(AsyncpgDriver(conn)))

        @manager.entrypoint("bench")
        async def run(job: object) -> None:
            self._done += 1

        try:
            await manager.run(batch_size=self._batch, mode=QueueExecutionMode.drain)
        finally:
            await conn.close()

    async def close(self) -> None:
        await self._conn.close()


class Procrastinate:
    """procrastinate with its psycopg connector and one worker of concurrency 50 that does not wait."""

    name = "procrastinate"
    setting = "concurrency=50, batch_defer_async"

    async def open(self, dsn: str) -> None:
        self._done = 0
        self._app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn, max_size=60))
        await self._app.open_async()
        await self._app.schema_manager.apply_schema_async()

        @self._app.task(name="bench")
        async def run(body: str) -> None:
            self._done += 1

        self._task = run

    def make(self, count: int) -> Sequence[Any]:
        return [{"body": BODY}] * count

    async def deposit(self, jobs: Sequence[Any], batch: int) -> None:
        for some in batches(jobs, batch):
            await self._task.batch_defer_async(*some)

    async def drain(self, count: int) -> None:
        self._done = 0
        await self._app.run_worker_async(
            concurrency=50, wait=False, install_signal_handlers=False, delete_jobs="always"
        )
        assert self._done == count, f"{self._done} of {count}"

    async def close(self) -> None:
        await self._app.close_async()


class Awa:
    """awa-pg with Python handlers on its queue storage, 50 workers."""

    name = "awa-pg"
    setting = "queue storage, 50 workers, enqueue_many_copy"

    def __init__(self) -> None:
        self._job = make_dataclass("Bench", [("body", str)])
        self._done = self._wanted = 0
        self._finished = asyncio.Event()

    async def open(self, dsn: str) -> None:
        self._dsn = dsn
        client = awa.AsyncClient(dsn)
        await client.migrate()
        # A short start makes the queue storage the active one; before that only the old storage takes jobs.
        await client.close()
        starter = self._client()
        await starter.start([("bench", 1)])
        await starter.shutdown()
        await starter.close()

    def _client(self) -> Any:
        client = awa.AsyncClient(self._dsn, max_connections=20)

        @client.task(self._job, queue="bench")
        async def run(job: object) -> None:
            self._done += 1
            if self._done == self._wanted:
                self._finished.set()

        return client

    def make(self, count: int) -> Sequence[Any]:
        return [self._job(BODY)] * count

    async def deposit(self, jobs: Sequence[Any], batch: int) -> None:
        client = self._client()
        for some in batches(jobs, batch):
            await client.enqueue_many_copy(list(some), queue="bench")
        await client.close()

    async def drain(self, count: int) -> None:
        self._done, self._wanted = 0, count
        self._finished.clear()
        client = self._client()
        await client.start([("bench", 50)])
        async with asyncio.timeout(DRAIN_SECONDS):
            await self._finished.wait()
        await client.shutdown()
        assert self._done == count

    async def close(self) -> None:
        pass
