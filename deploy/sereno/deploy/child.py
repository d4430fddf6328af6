"""A process of one plane, started by `sereno up` with a configuration file of its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sereno.deploy.leftovers import CONFIG_FLAG
from sereno.mailbox.engine.settings import Settings

STOP_SECONDS = 15.0
GO = b"go"
"""What a held process waits for on its standard input."""
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
    process: subprocess.Popen[bytes] | None = None
    log_start: int = 0

    def start(self, *, held: bool = False) -> None:
        """Start the process; it is not ready yet when this returns.

        A held one loads its code and then waits for `release`: its configuration need not exist yet.
        """
        rotate(self.log_file)
        kept = {name: value for name, value in self.environment.items() if name not in _OVERRIDES}
        command = [sys.executable, "-m", "sereno.deploy.process_main", "serve", self.name]
        command += ["--held"] if held else []
        with self.log_file.open("ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                [*command, CONFIG_FLAG, str(self.configuration)],
                stdin=subprocess.PIPE if held else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in the terminal is for `sereno up`, which stops its children in order.
                start_new_session=True,
                env=kept,
            )

    def release(self) -> None:
        """Let a process that was started held go on; one that has ended meanwhile is noticed by others."""
        if self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(GO)
                self.process.stdin.close()

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
        if process.stdin is not None:
            process.stdin.close()
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
