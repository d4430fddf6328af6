"""TCP ports on the loopback address."""

import socket
from typing import Protocol

from sereno.deploy.faults import StartError

LOOPBACK = "127.0.0.1"
_ATTEMPTS = 5


class Listening(Protocol):
    """A server that can be started on its `port`."""

    port: int

    def launch(self) -> None:
        """One attempt to start on `port`. Raises `StartError`."""


def free_port() -> int:
    """A port that was free a moment ago; another program may take it before its user does."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def on_free_port(server: Listening) -> None:
    """Start a server on its port; with 0 on a free one, and on another when that was taken meanwhile."""
    if server.port:
        server.launch()
        return
    for attempt in range(1, _ATTEMPTS + 1):
        server.port = free_port()
        try:
            server.launch()
        except StartError:
            if attempt == _ATTEMPTS or is_free(server.port):
                raise
        else:
            return
