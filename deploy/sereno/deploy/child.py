"""A process of one plane, started by `sereno up` with a configuration file of its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import setproctitle

from sereno.deploy import private_file, process_main
from sereno.deploy.forked_process import ForkedProcess, fork
from sereno.deploy.leftovers import CONFIG_FLAG
from sereno.mailbox.engine.settings import Settings

STOP_SECONDS = 15.0
HELD = "--held"
_LOG_BYTES = 16 << 20
# They would win over the configuration file, and the operator's are not this process'.
_OVERRIDES = frozenset(
    {f"SERENO_{name.upper()}" for name in Settings.model_fields} | {"SERENO_CONFIG", "SERENO_TOKEN"}
)


@dataclass(slots=True)
class Child:
    """`sereno serve NAME`, its output going to a log."""

    name: str
    configuration: Path
    log_file: Path
    url: str | None = None
    """Where it answers probes, if anywhere."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    process: subprocess.Popen[bytes] | ForkedProcess | None = None
    log_start: int = 0
    _release: int | None = None

    def start(self) -> None:
        """Start the process; it is not ready yet when this returns."""
        with self._log() as log:
            self.process = self._executed(self._words(), subprocess.DEVNULL, log)

    def start_held(self, *, forking: bool) -> None:
        """Start the process: it loads its code, then waits for `release`; its configuration need not exist yet.

        With `forking` it comes from this process, which then must have one thread and no files that it minds losing.
        """
        words = [*self._words(), HELD]
        reading, self._release = os.pipe()
        with self._log() as log:
            if forking:
                self.process = fork(lambda: self._run(words), reading=reading, output=log)
            else:
                self.process = self._executed(words, reading, log)
        os.close(reading)

    def _executed(self, words: Sequence[str], reading: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", process_main.__name__, *words],
            stdin=reading,
            stdout=log,
            stderr=log,
            # Ctrl-C in the terminal is for `sereno up`, which stops its children in order.
            start_new_session=True,
            env=self._kept(),
        )

    def _run(self, words: Sequence[str]) -> int:
        setproctitle.setproctitle(" ".join(["sereno", *self._words()]))
        kept = self._kept()
        os.environ.clear()
        os.environ.update(kept)
        return process_main.main(words)

    def _words(self) -> list[str]:
        return ["serve", self.name, CONFIG_FLAG, str(self.configuration)]

    def _kept(self) -> dict[str, str]:
        return {name: value for name, value in self.environment.items() if name not in _OVERRIDES}

    def _log(self) -> IO[bytes]:
        rotate(self.log_file)
        log = private_file.append_to(self.log_file)
        self.log_start = log.tell()
        return log

    def release(self) -> None:
        """Let a held process go on; one that has ended meanwhile is noticed by others."""
        self._let_go(process_main.GO)

    def _let_go(self, word: bytes) -> None:
        writing, self._release = self._release, None
        if writing is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(writing, word)
            os.close(writing)

    def said(self) -> bytes:
        """What it has logged since its start."""
        with self.log_file.open("rb") as log:
            log.seek(self.log_start)
            return log.read()

    def stop(self) -> None:
        """Ask the process to end, and end it when it does not."""
        self.ask_to_stop()
        process, self.process = self.process, None
        if process is None:
            return
        self._let_go(b"")
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def ask_to_stop(self) -> None:
        """Send SIGTERM, without waiting."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()


def rotate(log: Path) -> None:
    """Put a log that has grown large aside, so that at most two of its size are kept."""
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
