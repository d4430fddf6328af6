"""How long an idle worker takes to pick a message up: from the committed deposit to the first line of the handler.

Everything between is there: the hint over NATS, the worker API over HTTP in a process of its own, the claim, and the
Python worker. A message comes when the worker has been idle for a while.
"""

import asyncio
import logging
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import structlog

from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.wake import Wake, mailboxes
from tests.benchmarks.contenders import AGENT, Ours
from tests.benchmarks.figures import Bound
from tests.benchmarks.server import new_database
from tests.engines import embedded_nats

SAMPLES = 400
WARM_UP = 20
PAUSE_SECONDS = (0.03, 0.09)
BOUNDS = (
    (0.50, Bound("idle pick-up, p50, milliseconds", 5, 3, at_most=True, digits=1)),
    (0.95, Bound("idle pick-up, p95, milliseconds", 15, 10, at_most=True, digits=1)),
    (0.99, Bound("idle pick-up, p99, milliseconds", 40, 25, at_most=True, digits=1)),
)


async def measure(dsn: str) -> bool:
    """Measure and show; whether it is quick enough."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    ours = Ours(1)
    database = await new_database(dsn, "latency")
    await ours.open(database)
    await ours.close()
    with (
        tempfile.TemporaryDirectory(prefix="sereno-bench-") as folder,
        embedded_nats(Path(folder), {}) as nats,
    ):
        api = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.benchmarks.api",
            env=os.environ | {"BENCH_DSN": database, "BENCH_NATS": nats},
            stdout=asyncio.subprocess.PIPE,
        )
        assert api.stdout is not None
        try:
            url = (await api.stdout.readline()).decode().strip()
            waits = sorted(await _waits(database, nats, url, ours))
        finally:
            api.terminate()
            await api.wait()
    shown = [bound.show([1000 * waits[int(share * len(waits))]]) for share, bound in BOUNDS]
    return all(shown)


async def _waits(database: str, nats: str, url: str, ours: Ours) -> list[float]:
    # Its logger is made when it is loaded, so not before the level is set.
    from sereno.mailbox.worker import Delivery, Worker

    pool = await open_pool(database, application_name="bench-deposit", max_size=1)
    client = await bus.connect(nats, name="bench", seed=None)
    wake, begun = Wake(client), asyncio.Queue[float]()
    worker = Worker(url, "bench")

    @worker.agent(AGENT)
    async def handle(_delivery: Delivery) -> None:
        begun.put_nowait(time.perf_counter())

    working = asyncio.create_task(worker.run(handle_signals=False))
    waits = []
    try:
        for job in ours.make(WARM_UP + SAMPLES):
            await asyncio.sleep(random.uniform(*PAUSE_SECONDS))
            async with pool.acquire() as conn, conn.transaction():
                await deposit(conn, [job.message])
            committed = time.perf_counter()
            await wake.publish(mailboxes([job.message]))
            async with asyncio.timeout(30):
                waits.append(await begun.get() - committed)
    finally:
        worker.stop()
        await working
        await client.close()
        await pool.close()
    return waits[WARM_UP:]
