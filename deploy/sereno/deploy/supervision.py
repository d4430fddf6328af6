"""Keeps processes running: what ends without being told is started again, after a pause that grows."""

import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from sereno.deploy.backoff import Restarts
from sereno.deploy.faults import StartError
from sereno.deploy.forked_process import ForkedProcess
from sereno.deploy.stop_request import StopRequest

_POLL_SECONDS = 0.1


class Supervised(Protocol):
    """A process that can be started and stopped."""

    name: str

    @property
    def process(self) -> subprocess.Popen[bytes] | ForkedProcess | None:
        """What runs, or ran last."""

    def start(self) -> None:
        """Start it. Raises `StartError`."""

    def stop(self) -> None:
        """Stop it and wait for its end."""


class Watch:
    """One supervised process with the history of its crashes."""

    def __init__(self, subject: Supervised, say: Callable[[str], None]) -> None:
        self._subject = subject
        self._say = say
        self._restarts = Restarts(time.monotonic())
        self._due: float | None = None

    def tick(self, now: float) -> bool:
        """Notice an end, or start again when it is time; whether the process was started."""
        if self._due is None:
            self._notice(now)
            return False
        return now >= self._due and self._start(now)

    def _notice(self, now: float) -> None:
        process = self._subject.process
        code = None if process is None else process.poll()
        if code is None:
            return
        self._restarts = self._restarts.after_crash(now)
        self._due = now + self._restarts.pause()
        self._say(
            f"{self._subject.name} ended ({_how(code)}); starting it again in {self._restarts.pause():g} s"
        )

    def _start(self, now: float) -> bool:
        try:
            self._subject.start()
        except StartError as fault:
            self._restarts = self._restarts.after_crash(now)
            self._due = now + self._restarts.pause()
            self._say(fault.message)
            return False
        self._restarts = self._restarts.started(now)
        self._due = None
        return True


def supervise(
    subjects: Sequence[Supervised],
    stop: StopRequest,
    *,
    say: Callable[[str], None],
    changed: Callable[[], None],
) -> None:
    """Watch the processes until `stop` is set; `changed` is called when one has a new process id."""
    watches = [Watch(subject, say) for subject in subjects]
    while not stop.wait(_POLL_SECONDS):
        started = [watch.tick(time.monotonic()) for watch in watches]
        if any(started):
            changed()


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
