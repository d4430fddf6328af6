"""The request to stop, as a signal handler may make it at any moment."""

import os
import select


class StopRequest:
    """Set once, by a signal handler or by anyone; waiting for it takes no lock.

    `threading.Event` would do but for this: its `set` takes the lock that `wait` holds now and then, and a handler
    runs in the very thread that waits. The process then hangs for ever.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._made = False

    def set(self) -> None:
        """Ask to stop; asking again changes nothing."""
        if not self._made:
            self._made = True
            os.write(self._writer, b"!")

    def is_set(self) -> bool:
        """Whether somebody asked."""
        return self._made

    def wait(self, seconds: float) -> bool:
        """Wait until somebody asks, at most so long; whether somebody did."""
        select.select([self._reader], [], [], seconds)
        return self._made
