"""Where a demonstration plays: a running installation in a temporary folder, the `sereno` command, and a screen."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import SecretStr
from rich.console import Console

from sereno.deploy.faults import StartError
from sereno.deploy.options import Options
from sereno.deploy.stop_request import StopRequest
from sereno.deploy.tail import last_lines, reason
from sereno.deploy.up import Installation, installation
from sereno.mailbox.cli.client import Client

T = TypeVar("T")
_POLL_SECONDS = 0.05
_COMMAND_SECONDS = 300.0
# A quiet machine needs a fraction of a second; a busy one must not fail the demonstration.
_WAIT_SECONDS = 300.0
_OURS = "SERENO_"


class UnexpectedError(StartError):
    """Something went differently from what the demonstration shows."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A running installation and how to speak to it; `folder` is for the demonstration's own files."""

    folder: Path
    running: Installation
    screen: Console
    stop: StopRequest

    @property
    def environment(self) -> dict[str, str]:
        """In which `sereno` finds this installation and no other."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return kept | {"SERENO_DATA": str(self.folder / "data"), "COLUMNS": "118"}

    def execution(self) -> Client:
        """The execution plane's API with the admin token."""
        return Client(self.running.execution_url, self.running.token_file.read_text(encoding="ascii").strip())

    def command(self, *words: str) -> str:
        """Run a `sereno` command and show it; its output. Raises `UnexpectedError` when it fails."""
        self.screen.print(f"[dim]$ sereno {' '.join(words)}[/dim]", highlight=False, soft_wrap=True)
        done = subprocess.run(
            command_line(*words),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        if done.returncode:
            raise UnexpectedError(f"'sereno {words[0]}' ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def title(self, text: str) -> None:
        """Head what comes next."""
        self.screen.print(f"\n[bold]{text}[/bold]", highlight=False)

    def show(self, *words: str) -> str:
        """Run a `sereno` command and show it with its output."""
        output = self.command(*words)
        self.screen.print(output.rstrip(), markup=False, highlight=False)
        return output

    def json(self, *words: str) -> Any:
        """The same for the JSON answer."""
        return orjson.loads(self.command(*words, "--json"))

    @contextlib.contextmanager
    def background(self, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
        """A `sereno` command that runs meanwhile; it is ended if it has not by itself."""
        self.screen.print(f"[dim]$ sereno {' '.join(words)} &[/dim]", highlight=False, soft_wrap=True)
        with (self.folder / f"{words[0]}.log").open("wb") as log:
            process = subprocess.Popen(
                command_line(*words), env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait()

    def ended_badly(self, process: "subprocess.Popen[bytes]", name: str) -> None:
        """Raise `UnexpectedError` when a command in the background failed."""
        if process.poll():
            why = reason(last_lines(self.folder / f"{name}.log", 5))
            raise UnexpectedError(f"'sereno {name}' ended with {process.returncode}: {why}")

    def until(self, look: Callable[[], T | None], what: str, seconds: float = _WAIT_SECONDS) -> T:
        """What `look` finds, as soon as it is not None. Raises `UnexpectedError`, saying what did not happen."""
        give_up = time.monotonic() + seconds
        while (found := look()) is None:
            if self.stop.is_set():
                raise UnexpectedError("interrupted")
            if time.monotonic() > give_up:
                raise UnexpectedError(f"{what} did not happen within {seconds:.0f} s")
            self.stop.wait(_POLL_SECONDS)
        return found


def command_line(*words: str) -> Sequence[str]:
    """How to start the `sereno` command of this very installation of the package."""
    return [sys.executable, "-m", "sereno.deploy.main", *words]


def expect(fact: Mapping[str, Any], **wanted: object) -> None:
    """Raise `UnexpectedError` unless the fact is as wanted."""
    for name, value in wanted.items():
        if fact.get(name) != value:
            raise UnexpectedError(f"expected {name} {value!r}, but it was {fact.get(name)!r}")


@contextlib.contextmanager
def stage(
    screen: Console,
    stop: StopRequest,
    *,
    without: Collection[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Iterator[Stage]:
    """Everything but the processes named in `without` started in a temporary folder, and at the end removed.

    Calendars may lie on this machine; `more` are further options of the installation.
    """
    with tempfile.TemporaryDirectory(prefix="sereno-demo-") as temporary:
        folder = Path(temporary).resolve()
        # The account that runs PostgreSQL for root must be able to pass; the data folder in it stays closed.
        folder.chmod(0o711)
        options = Options(
            data=folder / "data",
            postgres=SecretStr(""),
            nats="",
            control_port=0,
            execution_port=0,
            calendar_networks="127.0.0.0/8",
            **(more or {}),
        )
        programs = folder / "programs"
        with installation(
            options, stop, screen.print, programs=programs, forking=True, without=without
        ) as running:
            yield Stage(folder, running, screen, stop)
