"""The listeners as a process, with the relay that carries their signals to the ingress."""

import asyncio
import os
from datetime import datetime

from sereno.execution_plane.listeners.listener import listen
from sereno.execution_plane.listeners.time_listener import TimeListener
from sereno.execution_plane.process_engines import SCHEMA, checks, listening, log_start, open_engines
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, http_server, probes
from sereno.mailbox.engine.outbox import Relay
from sereno.mailbox.engine.settings import Settings


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """The listeners, and the relay that carries their signals to the ingress."""
    with listening(settings.execution_host, settings.listeners_port) as bound:
        async with open_engines(settings, "listeners") as engines:
            listeners = (TimeListener(engines.pool, os.urandom),)
            log_start("listeners", settings)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(
                    http_server.serve(
                        probes.app(lambda: checks(engines, bus.INGRESS, bus.REPORTS)), bound, stop
                    )
                )
                tasks.create_task(listen(listeners, lambda: _database_time(engines.pool), stop))
                tasks.create_task(Relay(engines.pool, engines.nats, SCHEMA).run(stop))


async def _database_time(pool: AnyPool) -> datetime:
    now: datetime = await pool.fetchval("SELECT clock_timestamp()")
    return now
