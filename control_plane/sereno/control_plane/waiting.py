"""Waiting that a stop ends at once."""

import asyncio
import contextlib


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait until `stop` is set, at most so long."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
