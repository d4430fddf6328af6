"""A process forked from this one, which therefore need not load again what is loaded here.

It may only be forked while this process has one thread: a lock that another thread holds would stay locked in it.
"""

import gc
import math
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

_POLL_SECONDS = 0.02
_FIRST_OWN_FILE = 3
_LAST_FILE = 1 << 16
_FAULT = 1


@dataclass(slots=True)
class ForkedProcess:
    """What `subprocess.Popen` offers of a process, for a forked one."""

    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal, once it has ended."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float = math.inf) -> int:
        """Its exit code. Raises `subprocess.TimeoutExpired` when it has not ended within so many seconds."""
        give_up = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > give_up:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_POLL_SECONDS)
        return code

    def terminate(self) -> None:
        """Send SIGTERM, unless it has ended."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def fork(work: Callable[[], int], *, reading: int, output: IO[bytes]) -> ForkedProcess:
    """Run `work` in a session of its own with these standard streams and no other open file; it returns the exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return ForkedProcess(pid)
    code = _FAULT
    try:
        detach(reading, output.fileno())
        code = work()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - whatever it is, what stands above in the stack is the other process' to run
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def detach(reading: int, writing: int) -> None:
    """Leave the session, files and signal handlers of the process from which this one was forked."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    for own, given in ((0, reading), (1, writing), (2, writing)):
        os.dup2(given, own)
    os.closerange(_FIRST_OWN_FILE, _LAST_FILE)
    # What both processes hold stays shared between them as long as neither collects it.
    gc.freeze()
