"""Turns: how many requests are read in one pass of the event loop.

A burst that is read in one go stands still together while the disk writes, and the disk while the next burst is read.
In turns, what was read goes to the disk while the rest is read.
"""

import asyncio

A_TURN = 16


class Turns:
    """Lets at most so many through in each pass of the event loop, in the order in which they came."""

    def __init__(self, size: int = A_TURN) -> None:
        self._size = size
        self._left = size
        self._passing = False

    async def take(self) -> None:
        """Returns in this pass of the loop or in a later one."""
        while not self._left:  # noqa: ASYNC110 - a pass of the loop is just what it waits for
            await asyncio.sleep(0)
        self._left -= 1
        if not self._passing:
            self._passing = True
            asyncio.get_running_loop().call_soon(self._refill)

    def _refill(self) -> None:
        self._left = self._size
        self._passing = False
