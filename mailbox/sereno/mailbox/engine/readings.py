"""Readings: what gauges show, looked up when somebody asks for the metrics, and never else."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

from nats.aio.client import Client
from nats.errors import Error as NatsError
from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.instruments import METRICS
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.probes import Readiness
from sereno.mailbox.engine.telemetry import SCOPE, counter, logger

EVERY_SECONDS = 4.0
"""Who asks more often is shown the same again."""
WITHIN_SECONDS = 2.0
MOST = 10_000
"""Nothing is counted further."""
# What the planner believes of tables that were empty a moment ago must not lead it past their indexes.
ALONG_INDEXES = (
    "set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off;"
)
_IN_TIME = f"set local statement_timeout = {int(WITHIN_SECONDS * 1000)}"
_AWAY = (*DATABASE_FAULTS, NatsError)
_log = logger("readings")


class Reading(NamedTuple):
    """One value of a gauge; the labels are in the order of its declaration."""

    name: str
    labels: Sequence[str]
    value: float


Look = Callable[[], Awaitable[Iterable[Reading]]]
"""Looks values up, with a constant number of cheap questions."""


class Readings:
    """The gauges of one process. What cannot be looked up is not shown: an old value would look like a new one."""

    def __init__(self, looks: Mapping[str, Look], *, every_seconds: float = EVERY_SECONDS) -> None:
        self._looks = looks
        self._every = every_seconds
        self._due = 0.0
        self._asking = asyncio.Lock()
        self._failed = counter("sereno.readings.failed")
        for name in looks:
            self._failed.add(0, {"reading": name})

    async def refresh(self) -> None:
        """Bring the gauges up to date, unless that was done a moment ago."""
        async with self._asking:
            loop = asyncio.get_running_loop()
            if loop.time() < self._due:
                return
            found = await asyncio.gather(*(self._answer(name) for name in self._looks))
            show(reading for answer in found for reading in answer)
            self._due = loop.time() + self._every

    async def _answer(self, name: str) -> Iterable[Reading]:
        try:
            async with asyncio.timeout(WITHIN_SECONDS):
                return list(await self._looks[name]())
        except _AWAY as fault:
            self._failed.add(1, {"reading": name})
            _log.warning("reading_failed", reading=name, error=type(fault).__name__)
            return ()


_shown: dict[str, list[Observation]] = {}
_watched: set[str] = set()


def show(readings: Iterable[Reading]) -> None:
    """Let the gauges show these values and no others."""
    fresh: dict[str, list[Observation]] = {}
    for name, labels, value in readings:
        attributes = dict(zip(METRICS[name].labels, labels, strict=True))
        fresh.setdefault(name, []).append(Observation(value, attributes))
    for name in fresh.keys() - _watched:
        _watch(name)
    _shown.clear()
    _shown.update(fresh)


def _watch(name: str) -> None:
    _watched.add(name)
    metric = METRICS[name]
    metrics.get_meter(SCOPE).create_observable_gauge(
        name, callbacks=[partial(_values, name)], unit=metric.unit, description=metric.description
    )


def _values(name: str, _options: CallbackOptions) -> Iterable[Observation]:
    return _shown.get(name, ())


async def rows(pool: AnyPool, sql: str, *arguments: object) -> list[Reading]:
    """The readings that a statement answers: name, labels, value."""
    async with pool.acquire() as conn, conn.transaction(readonly=True):
        await conn.execute(ALONG_INDEXES + _IN_TIME)
        return [
            Reading(row["name"], row["labels"], float(row["value"]))
            for row in await conn.fetch(sql, *arguments)
        ]


def of_process(pool: AnyPool, nats: Client, ready: Readiness, *streams: str) -> dict[str, Look]:
    """What every process shows: its version, its connections, whether its dependencies answer, and streams it needs."""

    async def dependencies() -> Iterable[Reading]:
        return [
            Reading("sereno.build.info", (version("sereno"),), 1),
            *(
                Reading("sereno.dependency.up", (name,), fault is None)
                for name, fault in (await ready()).items()
            ),
        ]

    async def connections() -> Iterable[Reading]:
        idle = pool.get_idle_size()
        return [
            Reading("sereno.database.connections", ("idle",), idle),
            Reading("sereno.database.connections", ("busy",), pool.get_size() - idle),
        ]

    async def sizes() -> Iterable[Reading]:
        found = await bus.states(nats, streams)
        return [
            reading
            for name, (messages, size) in found.items()
            for reading in (
                Reading("sereno.stream.messages", (name,), messages),
                Reading("sereno.stream.size", (name,), size),
            )
        ]

    return {"dependencies": dependencies, "connections": connections, "streams": sizes}
