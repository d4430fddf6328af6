"""What every process of the execution plane starts with: its port, its connections, and a line in the log."""

import contextlib
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nats.aio.client import Client

from sereno.mailbox import epoch
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, http_server
from sereno.mailbox.engine.http_server import AddressInUseError
from sereno.mailbox.engine.postgres import DATABASE_FAULTS, open_pool
from sereno.mailbox.engine.probes import Readiness
from sereno.mailbox.engine.readings import Look, Readings, of_process
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.engine.telemetry import logger

SCHEMA = "execution"
_READY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Engines:
    """The connections of one process."""

    pool: AnyPool
    nats: Client


@contextlib.asynccontextmanager
async def open_engines(settings: Settings, process: str) -> AsyncIterator[Engines]:
    """The connections of a process, closed at the end."""
    name = f"sereno-{process}"
    async with contextlib.AsyncExitStack() as stack:
        pool = await open_pool(settings.dsn(), application_name=name)
        stack.push_async_callback(pool.close)
        await _same_timeline(pool)
        nats = await bus.connect(settings.nats, name=name, seed=settings.nats_seed())
        stack.push_async_callback(nats.close)
        yield Engines(pool, nats)


async def _same_timeline(pool: AnyPool) -> None:
    try:
        await epoch.guard(pool)
    except epoch.TimelineChangedError as fault:
        raise CommandError(str(fault)) from fault


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """The socket on which a process answers, closed at the end. Raises `CommandError` when it cannot be had."""
    try:
        bound = http_server.bind(host, port)
    except AddressInUseError as fault:
        raise CommandError(str(fault)) from fault
    with contextlib.closing(bound):
        yield bound


async def checks(engines: Engines, *streams: str) -> Mapping[str, str | None]:
    """Each engine, stream and bucket by name with `None` when it is there, else with a sentence."""
    return {"postgres": await _postgres(engines.pool), **await bus.checks(engines.nats, streams)}


def readings(
    engines: Engines, ready: Readiness, streams: Sequence[str], looks: Mapping[str, Look]
) -> Readings:
    """The gauges of a process: what all show, and its own."""
    return Readings({**of_process(engines.pool, engines.nats, ready, *streams), **looks})


async def _postgres(pool: AnyPool) -> str | None:
    try:
        await pool.fetchval("SELECT 1", timeout=_READY_SECONDS)
    except DATABASE_FAULTS as fault:
        return f"PostgreSQL does not answer ({type(fault).__name__})"
    return None


def log_start(process: str, settings: Settings) -> None:
    """Say that the process does its work from now on."""
    logger(process).info("started", nats=settings.nats)
