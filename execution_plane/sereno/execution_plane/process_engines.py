"""What every process of the execution plane starts with: its connections, and a line in the log."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from nats.aio.client import Client

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.engine.telemetry import logger

SCHEMA = "execution"


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
        nats = await bus.connect(settings.nats, name=name, seed=settings.nats_seed())
        stack.push_async_callback(nats.close)
        yield Engines(pool, nats)


def log_start(process: str, settings: Settings) -> None:
    """Say that the process does its work from now on."""
    logger(process).info("started", nats=settings.nats)
