"""A real CalDAV server for a demonstration: Radicale, with one user and one calendar, in a folder of its own."""

import contextlib
import importlib.util
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from sereno.deploy import private_file
from sereno.deploy.faults import StartError
from sereno.deploy.ports import free_port
from sereno.deploy.tail import last_lines

USER = "marta"
_START_SECONDS = 300.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class CalendarServer:
    """A running server; `url` is that of the calendar."""

    url: str
    password_file: Path

    def put(self, name: str, text: str) -> None:
        """Write an entry. Raises `httpx.HTTPError` when the server refuses."""
        self._ask("PUT", f"{name}.ics", text)

    def delete(self, name: str) -> None:
        """Remove an entry."""
        self._ask("DELETE", f"{name}.ics")

    def make(self) -> None:
        """Make the calendar."""
        self._ask("MKCALENDAR")

    def _ask(self, method: str, name: str = "", text: str = "") -> None:
        answer = httpx.request(
            method,
            f"{self.url}{name}",
            content=text.encode(),
            headers={"Content-Type": "text/calendar"},
            auth=(USER, self.password_file.read_text(encoding="ascii")),
            trust_env=False,
        )
        answer.raise_for_status()


@contextlib.contextmanager
def calendar_server(folder: Path) -> Iterator[CalendarServer]:
    """The server, stopped at the end. Raises `StartError` when it is not installed or does not start."""
    if importlib.util.find_spec("radicale") is None:
        raise StartError("the CalDAV server Radicale is not installed: pip install 'sereno[demo]' brings it")
    folder.mkdir(mode=0o700, exist_ok=True)
    password = secrets.token_hex(16)
    users, password_file, log = folder / "users", folder / "password", folder / "radicale.log"
    private_file.write(users, f"{USER}:{password}\n".encode())
    private_file.write(password_file, password.encode())
    port = free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "radicale", "--config", "", *_options(folder, users, port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(process, url, log)
            server = CalendarServer(f"{url}/{USER}/work/", password_file)
            server.make()
            yield server
        finally:
            process.terminate()
            process.wait()


def _options(folder: Path, users: Path, port: int) -> list[str]:
    options = {
        "--server-hosts": f"127.0.0.1:{port}",
        "--storage-filesystem-folder": str(folder / "collections"),
        "--auth-type": "htpasswd",
        "--auth-htpasswd-filename": str(users),
        "--auth-htpasswd-encryption": "plain",
        "--rights-type": "owner_only",
    }
    return [word for pair in options.items() for word in pair]


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while True:
        if process.poll() is not None or time.monotonic() > give_up:
            raise StartError(f"Radicale did not start: {' '.join(last_lines(log, 3))}")
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url, trust_env=False)
            return
        time.sleep(_POLL_SECONDS)
