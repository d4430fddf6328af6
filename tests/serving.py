"""A real HTTP server for a test, on a free port of the loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.types import ASGIApp

from sereno.mailbox.engine import http_server


@contextlib.asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """The address of `app` while it is served."""
    listening = http_server.bind("127.0.0.1", 0)
    stop = asyncio.Event()
    task = asyncio.create_task(http_server.serve(app, listening, stop))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        stop.set()
        await task
