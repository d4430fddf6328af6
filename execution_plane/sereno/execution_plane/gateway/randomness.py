"""Random bytes a few at a time: the system is asked for thousands at once, not for ten with each request."""

import os
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 4096


class Randomness:
    """A function that gives random bytes, each of them once; not to be shared by threads or over a fork."""

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._bytes = b""
        self._used = 0

    def __call__(self, count: int) -> bytes:
        """So many random bytes, at most `AT_ONCE`."""
        end = self._used + count
        if end > len(self._bytes):
            self._bytes, self._used, end = self._source(AT_ONCE), 0, count
        found = self._bytes[self._used : end]
        self._used = end
        return found
