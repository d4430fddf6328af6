"""Turns: how many requests are read in one pass of the event loop.

A burst that is read in one go stands still together while the disk writes, and the disk while the next burst is read.
In turns, what was read goes to the disk while the rest is read.
"""

import asyncio
from collections import deque

A_TURN = 16


class Turns:
    """Lets at most so many through in each pass of the event loop, in the order in which they came."""

    def __init__(self, size: int = A_TURN) -> None:
        self._size = size
        self._left = size
        self._passing = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Returns in this pass of the loop or in a later one."""
        if self._left and not self._waiting:
            self._left -= 1
            self._pass()
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._pass()
        await waiting

    def _pass(self) -> None:
        if not self._passing:
            self._passing = True
            asyncio.get_running_loop().call_soon(self._refill)

    def _refill(self) -> None:
        """A new pass: those who waited go first, whoever gave up meanwhile takes no place."""
        self._left = self._size
        self._passing = False
        while self._waiting and self._left:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                self._left -= 1
        if self._waiting or self._left < self._size:
            self._pass()
