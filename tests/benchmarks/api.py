"""The worker API of the mailbox in a process of its own; prints its address, and ends with SIGTERM."""

import asyncio
import os
import signal
import sys

import uvloop
from fastapi import FastAPI

from sereno.mailbox.audit.intents import intents
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.engine import bus, http_server, problems
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.http import router
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake
from tests.benchmarks.contenders import AGENT, TENANT


async def _authenticate(_bearer: str) -> Principal:
    return Principal(f"agent:{AGENT}", TENANT)


async def main() -> None:
    pool = await open_pool(os.environ["BENCH_DSN"], application_name="bench-api")
    client = await bus.connect(os.environ["BENCH_NATS"], name="api", seed=None)
    wake = Wake(client)
    await wake.start()
    app = FastAPI()
    problems.install(app)
    bearers = LeaseBearers(os.urandom(32))
    app.include_router(
        router(
            Mailbox(pool, wake=wake),
            _authenticate,
            bearers=bearers,
            knows_agent=lambda _t, _a: True,
            intent=intents(pool, "execution"),
        )
    )
    listening, stop = http_server.bind("127.0.0.1", 0), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    await http_server.serve(app, listening, stop)
    await client.close()
    await pool.close()


if __name__ == "__main__":
    asyncio.Runner(loop_factory=uvloop.new_event_loop).run(main())
