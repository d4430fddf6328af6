"""One process of the pipeline for `make bench-guards`: consumes while it is told to, by lines on standard input."""

import asyncio
import os
import sys

import uvloop

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.pipeline import Consumer
from sereno.execution_plane.pipeline.collector import collect_seldom
from sereno.mailbox.engine.bus import connect
from sereno.mailbox.engine.postgres import open_pool


async def main() -> None:
    pool = await open_pool(os.environ["BENCH_DSN"], application_name="pipeline", max_size=4)
    nats = await connect(os.environ["BENCH_NATS"], name="pipeline", seed=os.environ["BENCH_SEED"])
    catalog = Catalog()
    await catalog.refresh(pool)
    consumer = Consumer(pool, nats, catalog)
    collect_seldom()
    while await _line() == "go":
        stop = asyncio.Event()
        running = asyncio.create_task(consumer.run(stop))
        await _line()
        stop.set()
        await running
        _say("rests")
    await nats.close()
    await pool.close()


async def _line() -> str:
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()


def _say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(main())
