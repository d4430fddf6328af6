"""A poller that is killed between its writes, again and again: every item is one message, none is lost.

`make torture-mcp` runs it at length, the suite each point once.
"""

import asyncio
import os
import signal
import sys
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path

from tests.connectors import Script, SourceClock, connector, spec, watching
from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane

POINTS = ("mcp.items_written", "mcp.candidates_written", "mcp.before_commit", "mcp.after_commit")
"""After what is known was written and before the wake-ups, the other way round, and around the commit."""
_FAULT = "SERENO_FAULT"
_DEATH_SECONDS = 120.0

POLLER = """
import asyncio, os, sys
from datetime import datetime, timedelta
from sereno.execution_plane.listeners.mcp.connections import opening
from sereno.execution_plane.listeners.mcp.mcp_listener import McpListener
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.outbound import Addresses

async def main(dsn, now):
    pool = await open_pool(dsn, application_name="torture", max_size=3)
    opened = opening(lambda reference: None, Addresses())
    await McpListener(pool, os.urandom, opened, lease=timedelta(seconds=30)).observe(now)

asyncio.run(main(sys.argv[1], datetime.fromisoformat(sys.argv[2])))
"""


async def torture(plane: Plane, engines: Engines, rounds: int) -> list[str]:
    """Kill a poller at each point in turn; what was lost or came twice, in sentences."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        script, clock = Script(Path(folder)), SourceClock(plane)
        server = spec(script.command, "list_items")
        await plane.in_force(connector("items", server), watching("new"))
        await clock.poll()
        for number in range(rounds):
            point = POINTS[number % len(POINTS)]
            script.items(*(f"i{n}" for n in range(number + 2)))
            clock.now += timedelta(minutes=2)
            code = await killed(engines, clock, point)
            if code != -signal.SIGKILL:
                found.append(f"round {number}: the poller ended with {code} instead of dying at {point}")
            # Beyond the lease of the dead.
            await clock.poll(timedelta(minutes=2))
            await clock.poll(timedelta(minutes=2))
            wanted = Counter(f"i{n}" for n in range(number + 2))
            came = Counter(event for _, event in await clock.woken())
            if came != wanted:
                found.append(f"round {number} at {point}: lost {wanted - came}, twice {came - wanted}")
        await clock.close()
    return found


async def killed(engines: Engines, clock: SourceClock, point: str) -> int:
    """Let one poller run until it kills itself at the point."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        POLLER,
        engines.execution_dsn,
        clock.now.isoformat(),
        env={**os.environ, _FAULT: point},
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(_DEATH_SECONDS):
        return await process.wait()
