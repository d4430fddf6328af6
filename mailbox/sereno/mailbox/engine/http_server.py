"""One HTTP server inside a process that has other tasks too: it ends with the process' own stop."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from sereno.mailbox.engine.http_protocol import LimitedProtocol, Limits

DRAIN_SECONDS = 5
LIMITS = Limits()


class AddressInUseError(Exception):
    """The process cannot listen where it was told to; the message is fit for a person."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process."""
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, so that a process fails at its start when it cannot listen. Raises `AddressInUseError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as fault:
        raise AddressInUseError(f"cannot listen on {host}:{port}: {fault.strerror or fault}") from fault


async def serve(
    app: ASGIApp, listening: socket.socket, stop: asyncio.Event, *, limits: Limits = LIMITS
) -> None:
    """Answer requests until `stop` is set, then finish those under way for at most five seconds."""
    config = uvicorn.Config(
        app,
        http=partial(LimitedProtocol, limits=limits),  # type: ignore[arg-type]  # annotated as a class, called only
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
    finally:
        stopping.cancel()
        serving.cancel()
        listening.close()
