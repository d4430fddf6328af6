"""Installations as a person runs them: the `sereno` command in a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

T = TypeVar("T")
READY_SECONDS = 240.0


def sereno(*words: str, data: Path | None = None, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "sereno.deploy.main", *words],
        env=environment(data, **extra),
        capture_output=True,
        text=True,
        timeout=READY_SECONDS,
        check=False,
    )


def environment(data: Path | None = None, **extra: str) -> dict[str, str]:
    """Ours without its own Sereno; both planes listen on free ports."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SERENO_")}
    ports = {"SERENO_CONTROL_PORT": "0", "SERENO_EXECUTION_PORT": "0"}
    return kept | ports | ({"SERENO_DATA": str(data)} if data else {}) | extra


def until(look: Callable[[], T | None], what: str, seconds: float = READY_SECONDS) -> T:
    """What `look` finds, as soon as it is not None."""
    give_up = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < give_up, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(0.05)
    return found


@dataclass(slots=True)
class Up:
    """A running `sereno up`."""

    data: Path
    process: subprocess.Popen[str]

    @property
    def discovery(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.data / "sereno.json").read_text())
        return found

    @property
    def token(self) -> str:
        return Path(self.discovery["token_file"]).read_text().strip()

    def stop(self) -> tuple[str, str]:
        """End it as Ctrl-C does; stdout and stderr."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=READY_SECONDS)


@contextlib.contextmanager
def up(data: Path, *flags: str, **extra: str) -> Iterator[Up]:
    """`sereno up`, ready; stopped at the end with all that it started."""
    with contextlib.ExitStack() as stack:
        process = subprocess.Popen(
            [sys.executable, "-m", "sereno.deploy.main", "up", *flags],
            env=environment(data, **extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running = Up(data, process)
        stack.callback(_end, running)

        def ready() -> bool | None:
            assert process.poll() is None, process.communicate()
            with contextlib.suppress(OSError):
                return True if running.discovery["pids"]["up"] == process.pid else None
            return None

        until(ready, "the start of 'sereno up'")
        yield running


def _end(running: Up) -> None:
    if running.process.poll() is None:
        running.stop()
    # After a kill -9 what it started is ours to end.
    sereno("down", data=running.data)


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
