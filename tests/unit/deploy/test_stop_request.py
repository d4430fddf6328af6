"""A signal may ask for the stop at any moment of the wait, and the wait ends."""

import os
import signal
import threading
import time

from sereno.deploy.stop_request import StopRequest


def test_a_signal_in_the_thread_that_waits_ends_the_wait() -> None:
    """With a lock inside, one of these many signals would hang the thread."""
    for _ in range(100):
        request = StopRequest()
        before = signal.signal(signal.SIGUSR1, lambda _number, _frame, r=request: r.set())  # type: ignore[misc]
        try:
            killer = threading.Timer(0.001, os.kill, (os.getpid(), signal.SIGUSR1))
            killer.start()
            give_up = time.monotonic() + 60
            while not request.wait(0.0001):
                assert time.monotonic() < give_up
            killer.join()
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert request.is_set()


def test_nobody_asked() -> None:
    request = StopRequest()
    assert not request.wait(0)
    assert not request.is_set()


def test_asking_twice_is_asking_once() -> None:
    request = StopRequest()
    request.set()
    request.set()
    assert request.wait(0)
