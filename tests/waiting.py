"""Waiting for a condition instead of for a time."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], bool | Awaitable[bool]], *, seconds: float = 60.0) -> None:
    """Return as soon as the condition holds; fail when it does not within the time."""
    async with asyncio.timeout(seconds):
        while True:
            held = condition()
            if inspect.isawaitable(held):
                held = await held
            if held:
                return
            await asyncio.sleep(0.01)
