"""The server of a connector as a process: it ends with whoever runs it, however that one ends."""

import asyncio
import sys

from sereno.execution_plane.listeners.mcp import stdio
from sereno.execution_plane.listeners.mcp.stdio import Child

# It hears the end of its input and SIGTERM, and goes on.
DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(600)"


async def test_a_server_that_does_not_end_ends_with_whoever_is_cancelled_while_ending_it() -> None:
    told: list[Child] = []
    begun, leave = asyncio.Event(), asyncio.Event()

    async def use() -> None:
        async with stdio.started([sys.executable, "-c", DEAF], {}, 1_000, told):
            begun.set()
            await leave.wait()

    using = asyncio.create_task(use())
    await asyncio.wait_for(begun.wait(), 60)
    [child] = told
    leave.set()
    ending = asyncio.create_task(child.end())
    await asyncio.sleep(0)
    ending.cancel()
    using.cancel()
    await asyncio.wait([ending, using], timeout=60)
    assert ending.cancelled()
    assert using.done()
    assert await asyncio.wait_for(child.process.wait(), 60) != 0
