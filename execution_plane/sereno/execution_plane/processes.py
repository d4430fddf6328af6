"""The processes of the execution plane; each runs until it is told to stop, and owns all its tasks."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import asyncpg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nats.aio.client import Client

from sereno.execution_plane.agent_events import AgentEvents
from sereno.execution_plane.api import Parts, create_app
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.gateway.admission import Admission
from sereno.execution_plane.gateway.group_commit import GroupCommit, IngressPublisher
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.execution_plane.listeners.listener import listen
from sereno.execution_plane.listeners.time_listener import TimeListener
from sereno.execution_plane.manifest import trust
from sereno.execution_plane.manifest.receiver import Receiver
from sereno.execution_plane.pipeline.consumer import Consumer
from sereno.mailbox import epoch
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, http_server
from sereno.mailbox.engine.http_server import AddressInUseError
from sereno.mailbox.engine.outbox import Relay
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.retention import Retention
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake

SCHEMA = "execution"
_READY_SECONDS = 2.0
_FAULTS = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


@dataclass(frozen=True, slots=True)
class Engines:
    """The connections of one process."""

    pool: AnyPool
    nats: Client


async def run_gateway(settings: Settings, stop: asyncio.Event) -> None:
    """Webhooks, the worker API and explain over HTTP. Raises what says, in a sentence, why it cannot start."""
    keys, bearers = _trusted(settings), _lease_bearers(settings)
    with _listening(settings) as listening:
        async with _engines(settings, "gateway") as engines:
            catalog, wake = Catalog(), Wake(engines.nats)
            await catalog.refresh(engines.pool)
            await wake.start()
            commit = GroupCommit(IngressPublisher(engines.nats))
            webhooks = WebhookGateway(catalog, Admission(Secrets(), os.urandom), commit, _now)
            mailbox = Mailbox(engines.pool, wake=wake, emitter=AgentEvents(os.urandom))
            app = create_app(Parts(mailbox, catalog, webhooks, bearers, lambda: _checks(engines)))
            _log_start("gateway", settings)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(http_server.serve(app, listening, stop))
                tasks.create_task(Receiver(engines.pool, engines.nats, keys, catalog, wake).run(stop))
            # Requests are answered by now; what they still left in a batch is written before the connection goes.
            await commit.close()


async def run_listeners(settings: Settings, stop: asyncio.Event) -> None:
    """The listeners, and the relay that carries their signals to the ingress."""
    async with _engines(settings, "listeners") as engines:
        listeners = (TimeListener(engines.pool, os.urandom),)
        _log_start("listeners", settings)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(listen(listeners, lambda: _database_time(engines.pool), stop))
            tasks.create_task(Relay(engines.pool, engines.nats, SCHEMA).run(stop))


async def run_pipeline(settings: Settings, stop: asyncio.Event) -> None:
    """The consumer of the ingress with its guards, the reaper of leases, and a receiver of manifests."""
    keys = _trusted(settings)
    async with _engines(settings, "pipeline") as engines:
        catalog, wake = Catalog(), Wake(engines.nats)
        await catalog.refresh(engines.pool)
        _log_start("pipeline", settings)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(Receiver(engines.pool, engines.nats, keys, catalog, wake).run(stop))
            tasks.create_task(Consumer(engines.pool, engines.nats, catalog).run(stop))
            tasks.create_task(_until(stop, Reaper(engines.pool, wake=wake).run()))
            tasks.create_task(_until(stop, Retention(engines.pool).run()))


async def _until(stop: asyncio.Event, work: Awaitable[None]) -> None:
    """Run what would run for ever, and end it when told to stop; if it ends by a fault, so does this."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


@contextlib.asynccontextmanager
async def _engines(settings: Settings, process: str) -> AsyncIterator[Engines]:
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
def _listening(settings: Settings) -> Iterator[socket.socket]:
    try:
        listening = http_server.bind(settings.execution_host, settings.execution_port)
    except AddressInUseError as fault:
        raise CommandError(str(fault)) from fault
    with contextlib.closing(listening):
        yield listening


def _trusted(settings: Settings) -> Mapping[str, Ed25519PublicKey]:
    try:
        return trust.read(settings.manifest_keys_file)
    except trust.TrustError as fault:
        raise CommandError(str(fault)) from fault


def _lease_bearers(settings: Settings) -> LeaseBearers:
    path = settings.lease_key_file
    if path is None:
        raise CommandError("no key for lease bearers is configured; set SERENO_LEASE_KEY_FILE")
    try:
        return LeaseBearers(path.read_bytes())
    except OSError as fault:
        raise CommandError(f"the key for lease bearers in {path} cannot be read: {fault.strerror}") from fault
    except ValueError as fault:
        raise CommandError(f"{path}: {fault}") from fault


async def _checks(engines: Engines) -> Mapping[str, str | None]:
    return {
        "postgres": await _postgres(engines.pool),
        "nats": None if engines.nats.is_connected else "NATS is not connected",
    }


async def _postgres(pool: AnyPool) -> str | None:
    try:
        await pool.fetchval("SELECT 1", timeout=_READY_SECONDS)
    except _FAULTS as fault:
        return f"PostgreSQL does not answer ({type(fault).__name__})"
    return None


async def _database_time(pool: AnyPool) -> datetime:
    now: datetime = await pool.fetchval("SELECT clock_timestamp()")
    return now


def _now() -> datetime:
    return datetime.now(UTC)


def _log_start(process: str, settings: Settings) -> None:
    logger(process).info("started", nats=settings.nats)
