"""Explain over HTTP in a process of its own; prints its address, and ends with SIGTERM."""

import asyncio
import os
import signal
import sys

import uvloop
from fastapi import FastAPI

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.explain.http import router
from sereno.mailbox.engine import http_server, problems
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.principal import Principal
from tests.passages import TENANT


def _principal() -> Principal:
    return Principal("user:marta", TENANT)


async def main() -> None:
    pool = await open_pool(os.environ["BENCH_DSN"], application_name="bench-explain")
    catalog = Catalog()
    await catalog.refresh(pool)
    app = FastAPI()
    problems.install(app)
    app.include_router(router(pool, catalog, _principal))
    listening, stop = http_server.bind("127.0.0.1", 0), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    await http_server.serve(app, listening, stop)
    await pool.close()


if __name__ == "__main__":
    asyncio.Runner(loop_factory=uvloop.new_event_loop).run(main())
