"""The pipeline as a process: the consumer of the ingress with its guards, what follows by time, and retention."""

import asyncio
from collections.abc import Awaitable
from functools import partial

from sereno.execution_plane.accounts.reconciling import Reconciler
from sereno.execution_plane.audit import PLANE
from sereno.execution_plane.audit.crossing import Crossing
from sereno.execution_plane.audit.sequencing import Sequencer
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.gauges import standing
from sereno.execution_plane.gauges.budgets import budgets
from sereno.execution_plane.manifest import trust
from sereno.execution_plane.manifest.receiver import Receiver
from sereno.execution_plane.pipeline.collector import collect_seldom
from sereno.execution_plane.pipeline.consumer import Consumer
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.flushing import Flusher
from sereno.execution_plane.pipeline.forgetting import Forgetting
from sereno.execution_plane.pipeline.release import Releaser
from sereno.execution_plane.pipeline.settling import Settler
from sereno.execution_plane.process_engines import checks, listening, log_start, open_engines, readings
from sereno.execution_plane.stops.responder import Responder
from sereno.mailbox.audit import keys as audit_keys
from sereno.mailbox.audit.checkpointing import Checkpointer
from sereno.mailbox.audit.keys import AuditKey, AuditKeyError
from sereno.mailbox.audit.standing import AuditStanding
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, http_server, probes
from sereno.mailbox.engine.readings import Look
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.gauges import mailboxes
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.retention import Retention
from sereno.mailbox.wake import Wake


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """The consumer of the ingress with its guards, the reaper of leases, and a receiver of manifests."""
    keys, audit_key = trust.configured(settings), _audit_key(settings)
    with listening(settings.execution_host, settings.pipeline_port) as bound:
        async with open_engines(settings, "pipeline") as engines:
            catalog, wake = Catalog(), Wake(engines.nats)
            await catalog.refresh(engines.pool)
            directory = Directory(catalog)
            needed = (bus.INGRESS, bus.MANIFESTS)
            ready = partial(checks, engines, *needed)
            chains = AuditStanding(PLANE, signs=audit_key is not None, verifies=False)
            looks = _looks(engines.pool, catalog, directory)
            gauges = readings(engines, ready, needed, {**looks, "audit": partial(chains.look, engines.pool)})
            collect_seldom()
            log_start("pipeline", settings)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(http_server.serve(probes.app(ready, gauges.refresh), bound, stop))
                tasks.create_task(Receiver(engines.pool, engines.nats, keys, catalog, wake).run(stop))
                tasks.create_task(
                    Consumer(engines.pool, engines.nats, catalog, directory=directory).run(stop)
                )
                tasks.create_task(Releaser(engines.pool, catalog, wake, directory).run(stop))
                tasks.create_task(Settler(engines.pool).run(stop))
                tasks.create_task(Sequencer(engines.pool).run(stop))
                tasks.create_task(Crossing(engines.pool, catalog, audit_key).run(stop))
                if audit_key is not None and settings.audit_checkpoint_file is not None:
                    keeper = Checkpointer(
                        engines.pool, PLANE, audit_key, settings.audit_checkpoint_file, chains
                    )
                    tasks.create_task(keeper.run(stop))
                tasks.create_task(Responder(engines.pool, engines.nats, wake).run(stop))
                tasks.create_task(Flusher(engines.pool, catalog, wake, directory).run(stop))
                tasks.create_task(_until(stop, Reconciler(engines.pool, directory).run()))
                tasks.create_task(_until(stop, Reaper(engines.pool, wake=wake).run()))
                tasks.create_task(_until(stop, Retention(engines.pool).run()))
                tasks.create_task(_until(stop, Forgetting(engines.pool).run()))


def _looks(pool: AnyPool, catalog: Catalog, directory: Directory) -> dict[str, Look]:
    return {
        "mailboxes": mailboxes(pool),
        "guards": standing.guards(pool),
        "budgets": budgets(pool, directory),
        "manifests": standing.manifests(catalog),
        "transactions": standing.Transactions(pool).look,
    }


def _audit_key(settings: Settings) -> AuditKey | None:
    """The key of this plane's checkpoints; without one they are neither written nor told to the other plane."""
    try:
        return None if settings.audit_key_file is None else audit_keys.load(settings.audit_key_file)
    except AuditKeyError as fault:
        raise CommandError(str(fault)) from fault


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
