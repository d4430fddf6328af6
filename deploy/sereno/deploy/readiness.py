"""Waiting until the processes of an installation do their work."""

import re
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from sereno.deploy.child import Child
from sereno.deploy.faults import StartError
from sereno.deploy.stop_request import StopRequest
from sereno.deploy.tail import last_lines, reason

START_SECONDS = 60.0
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 2.0
_STARTED = re.compile(rb"\bstarted\b")


def wait_until_ready(children: Sequence[Child], stop: StopRequest) -> None:
    """Wait until each child does its work, or `stop` is set. Raises `StartError` when one ends or takes too long."""
    waiting = list(children)
    give_up = time.monotonic() + START_SECONDS
    while waiting and not stop.is_set():
        for child in children:
            _check_alive(child)
        waiting = [child for child in waiting if not _is_ready(child)]
        if waiting and time.monotonic() > give_up:
            name, log = waiting[0].name, waiting[0].log_file
            raise StartError(f"{name} was not ready within {START_SECONDS:.0f} s: see {log}.")
        if waiting:
            stop.wait(_POLL_SECONDS)


def _check_alive(child: Child) -> None:
    if child.process is None or child.process.poll() is None:
        return
    why = reason(last_lines(child.log_file, 20))
    raise StartError(f"{child.name} ended while it started: {why} (see {child.log_file})")


def _is_ready(child: Child) -> bool:
    """Who has an address answers there; the others log that they started."""
    if child.url is not None:
        return answers(child.url)
    return _STARTED.search(child.said()) is not None


def answers(url: str) -> bool:
    """Whether `/readyz` answers 200 there."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
