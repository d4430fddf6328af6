"""TCP ports on the loopback address."""

import socket
import sys
from typing import Protocol

from sereno.deploy.faults import StartError

LOOPBACK = "127.0.0.1"
_ATTEMPTS = 5
# Each keeps its port until this process ends.
_KEPT: list[socket.socket] = []


class Listening(Protocol):
    """A server that can be started on its `port`."""

    port: int

    def launch(self) -> None:
        """One attempt to start on `port`. Raises `StartError`."""


def free_port() -> int:
    """A port on which whoever is told can listen, and which the system gives to nobody else while this process lives.

    Outside Linux another program may take it before its user does.
    """
    keeper = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A bound socket that does not listen is in nobody's way who asks for this very port with the same option, as
    # servers do, and keeps it from those who ask for any port or connect from one.
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind((LOOPBACK, 0))
    port = int(keeper.getsockname()[1])
    if sys.platform == "linux":
        _KEPT.append(keeper)
    else:
        keeper.close()
    return port


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
