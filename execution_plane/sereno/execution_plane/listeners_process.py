"""The listeners as a process, with the relay that carries their signals to the ingress."""

import asyncio
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gauges.standing import sources
from sereno.execution_plane.listeners.calendar.calendar_listener import CalendarListener
from sereno.execution_plane.listeners.calendar.sources.caldav import CalDavSource
from sereno.execution_plane.listeners.calendar.sources.feed import FeedSource
from sereno.execution_plane.listeners.calendar.sources.file import FileSource
from sereno.execution_plane.listeners.calendar.sources.http import CalendarHttp
from sereno.execution_plane.listeners.calendar.sources.look import Source
from sereno.execution_plane.listeners.calendar.watcher import CalendarWatcher
from sereno.execution_plane.listeners.listener import Clock, listen
from sereno.execution_plane.listeners.mcp import connections
from sereno.execution_plane.listeners.mcp.mcp_listener import McpListener
from sereno.execution_plane.listeners.time_listener import TimeListener
from sereno.execution_plane.process_engines import (
    SCHEMA,
    checks,
    listening,
    log_start,
    open_engines,
    readings,
)
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, http_server, probes
from sereno.mailbox.engine.outbox import Relay
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.gauges import outbox
from sereno.mailbox.outbound import Addresses, Limits
from sereno.subscriptions.recurrence.calendar_text import MAX_BYTES

_WATCH_SECONDS = (0.25, 1.0)
_CALENDAR_LIMITS = Limits(max_bytes=MAX_BYTES, time=timedelta(seconds=30))


async def run(settings: Settings, stop: asyncio.Event, clock: Clock | None = None) -> None:
    """The listeners, and the relay that carries their signals to the ingress.

    Instants are due by the time of the database, unless another `clock` is given.
    """
    http = calendar_http(settings)
    opening = connections.opening(
        _resolver(), _opened("SERENO_CONNECTOR_NETWORKS", settings.connector_networks)
    )
    with listening(settings.execution_host, settings.listeners_port) as bound:
        async with open_engines(settings, "listeners") as engines:
            time = clock or (lambda: _database_time(engines.pool))
            signalling = (TimeListener(engines.pool, os.urandom), CalendarListener(engines.pool, os.urandom))
            watching = (CalendarWatcher(engines.pool, calendar_sources(http, settings)),)
            ready = partial(checks, engines, bus.INGRESS, bus.REPORTS)
            looks = {"sources": sources(engines.pool), "outbox": outbox(engines.pool, SCHEMA)}
            log_start("listeners", settings)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(
                    http_server.serve(
                        probes.app(ready, readings(engines, ready, (), looks).refresh), bound, stop
                    )
                )
                tasks.create_task(listen(signalling, time, stop))
                # A slow server must make nothing late.
                tasks.create_task(listen(watching, time, stop, _WATCH_SECONDS))
                tasks.create_task(McpListener(engines.pool, os.urandom, opening).run(time, stop))
                tasks.create_task(Relay(engines.pool, engines.nats, SCHEMA).run(stop))
    await http.close()


def calendar_http(settings: Settings) -> CalendarHttp:
    """How calendar servers are asked. Raises `CommandError` naming the setting that is wrong."""
    addresses = _opened("SERENO_CALENDAR_NETWORKS", settings.calendar_networks)
    return CalendarHttp(addresses, _CALENDAR_LIMITS, _resolver())


def _opened(setting: str, networks: str) -> Addresses:
    try:
        return Addresses.opening([text.strip() for text in networks.split(",") if text.strip()])
    except ValueError as fault:
        raise CommandError(f"{setting}: {fault}") from fault


def _resolver() -> Callable[[str], bytes | None]:
    """The secret behind a reference, read where the listeners run."""
    secrets = Secrets()
    return lambda reference: next(iter(secrets.active((reference,))), None)


def calendar_sources(http: CalendarHttp, settings: Settings) -> dict[str, Source]:
    """Every kind of source by the name of its field."""
    return {
        "file": FileSource(settings.calendar_folder),
        "url": FeedSource(http),
        "caldav": CalDavSource(http),
    }


async def _database_time(pool: AnyPool) -> datetime:
    now: datetime = await pool.fetchval("SELECT clock_timestamp()")
    return now
