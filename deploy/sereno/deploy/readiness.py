"""Waiting until the processes of an installation do their work."""

import subprocess
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from sereno.deploy.child import Child
from sereno.deploy.faults import StartError
from sereno.deploy.tail import last_lines, reason

START_SECONDS = 60.0
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 2.0


def wait_until_ready(children: Mapping[str, tuple[Child, str | None]], stop: threading.Event) -> None:
    """Wait until each child's `/readyz` answers 200, where it has one, or `stop` is set. Raises `StartError`."""
    waiting = dict(children)
    give_up = time.monotonic() + START_SECONDS
    while waiting and not stop.is_set():
        for child, _ in children.values():
            _check_alive(child)
        waiting = {name: (child, url) for name, (child, url) in waiting.items() if not answers(url)}
        if waiting and time.monotonic() > give_up:
            name, (child, _) = next(iter(waiting.items()))
            raise StartError(f"{name} was not ready within {START_SECONDS:.0f} s: see {child.log_file}.")
        if waiting:
            stop.wait(_POLL_SECONDS)


def _check_alive(child: Child) -> None:
    process: subprocess.Popen[bytes] | None = child.process
    if process is None or process.poll() is None:
        return
    why = reason(last_lines(child.log_file, 20))
    raise StartError(f"{child.name} ended while it started: {why} (see {child.log_file})")


def answers(url: str | None) -> bool:
    """Whether `/readyz` answers 200 there; a process without an address is ready while it runs."""
    if url is None:
        return True
    connection = HTTPConnection(urlsplit(url).netloc, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
