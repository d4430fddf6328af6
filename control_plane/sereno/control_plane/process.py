"""The control plane as a process: API, publisher, outbox relay and report consumer, all ended by one stop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import asyncpg
from nats.aio.client import Client
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane import gauges, sealing_key
from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import AdminTokenError, bootstrap, read_hash
from sereno.control_plane.publishing.publisher import Publisher
from sereno.control_plane.publishing.signing_key import SigningKeyError, load
from sereno.control_plane.recording import PLANE
from sereno.control_plane.reports.consumer import ReportConsumer
from sereno.control_plane.sealing_key import SealingKeyError
from sereno.control_plane.stop_keeping import StopKeeper
from sereno.control_plane.stop_orders import Orders
from sereno.control_plane.store.engine import open_engine
from sereno.mailbox import gauges as mailbox_gauges
from sereno.mailbox.audit import keys
from sereno.mailbox.audit.checkpointing import Checkpointer
from sereno.mailbox.audit.keys import AuditKey, AuditKeyError
from sereno.mailbox.audit.standing import AuditStanding
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.engine import asking, bus, http_server
from sereno.mailbox.engine.http_server import AddressInUseError
from sereno.mailbox.engine.outbox import Relay
from sereno.mailbox.engine.postgres import DATABASE_FAULTS, open_pool
from sereno.mailbox.engine.readings import Readings, of_process
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.engine.telemetry import logger

NAME = "sereno-control"
ANSWERED_WITHIN_SECONDS = 150.0
"""By the execution plane, when it has to ask a model."""


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Run until `stop` is set. Raises what says, in a sentence, why it cannot start."""
    try:
        key = load(_needed(settings.signing_key_file, "SERENO_SIGNING_KEY_FILE"))
        sha256_file = settings.admin_token_sha256_file
        admin = read_hash(sha256_file) if sha256_file else None
        sealing = sealing_key.load(settings.sealing_public_key_file)
        # Without a key of its own the chain is signed by the one of the manifests.
        audit_key = (
            keys.load(settings.audit_key_file) if settings.audit_key_file else AuditKey(key.private, key.id)
        )
        audit_keys = keys.trusted(settings.audit_keys_file, audit_key)
        listening = http_server.bind(settings.control_host, settings.control_port)
    except (SigningKeyError, SealingKeyError, AuditKeyError, AdminTokenError, AddressInUseError) as fault:
        raise CommandError(str(fault)) from fault
    with contextlib.closing(listening):
        async with _engines(settings) as (engine, pool, nats):
            await bootstrap(engine, admin)
            standing = AuditStanding(PLANE, signs=settings.audit_checkpoint_file is not None)
            ready = partial(_checks, engine, nats)
            readings = Readings(
                {
                    **of_process(pool, nats, ready, bus.REPORTS, bus.MANIFESTS),
                    "governance": gauges.governance(pool),
                    "outbox": mailbox_gauges.outbox(pool, PLANE),
                    "audit": partial(standing.look, pool),
                }
            )
            orders = Orders(nats)
            app = create_app(
                engine,
                execution_url=settings.execution_url,
                ready=ready,
                refresh=readings.refresh,
                audit_standing=standing,
                sealing_key=sealing,
                checkpoints=settings.audit_checkpoint_file,
                audit_keys=audit_keys,
                judged=bool(settings.evaluators),
                ask=partial(asking.ask, nats, seconds=ANSWERED_WITHIN_SECONDS),
                orders=orders,
            )
            logger("control").info("started", host=settings.control_host, port=settings.control_port)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(http_server.serve(app, listening, stop))
                tasks.create_task(Publisher(engine, nats, key).run(stop))
                tasks.create_task(Relay(pool, nats, PLANE).run(stop))
                tasks.create_task(ReportConsumer(engine, nats, audit_keys).run(stop))
                tasks.create_task(StopKeeper(engine, orders).run(stop))
                if settings.audit_checkpoint_file is not None:
                    checkpointer = Checkpointer(
                        pool, PLANE, audit_key, settings.audit_checkpoint_file, standing
                    )
                    tasks.create_task(checkpointer.run(stop))


def _needed(path: Path | None, variable: str) -> Path:
    if path is None:
        raise SigningKeyError(f"no key to sign manifests with is configured; set {variable}")
    return path


@contextlib.asynccontextmanager
async def _engines(
    settings: Settings,
) -> AsyncIterator[tuple[AsyncEngine, "asyncpg.Pool[asyncpg.Record]", Client]]:
    async with contextlib.AsyncExitStack() as stack:
        # Opened first: it connects at once and says in a sentence when PostgreSQL does not answer.
        pool = await open_pool(settings.dsn(), application_name=NAME, max_size=3)
        stack.push_async_callback(pool.close)
        engine = open_engine(settings.dsn(), application_name=NAME)
        stack.push_async_callback(engine.dispose)
        nats = await bus.connect(settings.nats, name=NAME, seed=settings.nats_seed())
        stack.push_async_callback(nats.close)
        yield engine, pool, nats


async def _checks(engine: AsyncEngine, nats: Client) -> Mapping[str, str | None]:
    return {"postgres": await _postgres(engine), **await bus.checks(nats, (bus.REPORTS, bus.MANIFESTS))}


async def _postgres(engine: AsyncEngine) -> str | None:
    try:
        async with engine.connect() as connection:
            await connection.execute(text("select 1"))
    except (*DATABASE_FAULTS, SQLAlchemyError) as fault:
        return f"PostgreSQL does not answer ({type(fault).__name__})"
    return None
