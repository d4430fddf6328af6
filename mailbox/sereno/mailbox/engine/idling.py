"""Idling: a loop that finds nothing looks again soon, then more and more seldom, up to a bound."""

import asyncio
import contextlib


class Idling:
    """The pauses of one loop, in seconds: `shortest` after work, doubling up to `longest` while there is none."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self._next = shortest

    def worked(self) -> None:
        """There was something to do: more may follow at once."""
        self._next = self._shortest

    async def pause(self, stop: asyncio.Event) -> None:
        """Wait for the next look, or until `stop` is set."""
        seconds, self._next = self._next, min(self._longest, 2 * self._next)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
