"""The outbox of a plane: what leaves the plane is first a row, written with the change that caused it.

A process may die between its commit and the publish, or between the publish and the mark. In the first case
the relay publishes later; in the second it publishes again, and the consumer knows the item by its position.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg
from nats.aio.client import Client
from nats.errors import Error as NatsError
from opentelemetry.trace import SpanKind

from sereno.envelope.envelope import Envelope
from sereno.mailbox.engine import faults, queries, tracing
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.engine.bus import PUBLISH_TIMEOUT_SECONDS
from sereno.mailbox.engine.idling import Idling
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import counter, histogram, logger

POSITION_HEADER = "Sereno-Position"
TRACE_HEADER = "traceparent"
KEEP_PUBLISHED_SECONDS = 3600.0
_BATCH = 500
_IDLE_SECONDS = (0.05, 0.25)
_PRUNE_EVERY_SECONDS = 60.0

_SENT = {
    names.MESSAGING_SYSTEM: names.NATS,
    names.MESSAGING_OPERATION: "send",
    names.MESSAGING_DESTINATION: names.INGRESS,
}

_DDL = """
CREATE TABLE {schema}.outbox (
    tenant_id    text        NOT NULL,
    position     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid          xid8        NOT NULL DEFAULT pg_current_xact_id(),
    subject      text        NOT NULL,
    payload      bytea       NOT NULL,
    headers      jsonb       NOT NULL,
    recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    published_at timestamptz
);
CREATE INDEX outbox_pending ON {schema}.outbox (xid, position) WHERE published_at IS NULL;
CREATE INDEX outbox_published ON {schema}.outbox (published_at) WHERE published_at IS NOT NULL;
"""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message that is to leave the plane."""

    subject: str
    tenant: str
    payload: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def ddl(schema: str) -> str:
    """The table and indexes of a plane's outbox, for that plane's first migration."""
    return _DDL.format(schema=schema)


def _statement(schema: str, name: str) -> str:
    return queries.load("sereno.mailbox.engine", "outbox.sql")[name].format(schema=schema)


def traced(envelopes: Iterable[Envelope]) -> Mapping[str, str]:
    """The headers of a row with these events: the trace of the first whose spans are kept."""
    for envelope in envelopes:
        if tracing.kept(envelope.traceparent):
            return {TRACE_HEADER: envelope.traceparent}
    return {}


async def append(
    connection: "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]",
    schema: str,
    items: Sequence[Outgoing],
) -> None:
    """Write the items in the caller's transaction, in order, with one statement."""
    if items:
        await connection.execute(
            _statement(schema, "append"),
            [item.tenant for item in items],
            [item.subject for item in items],
            [item.payload for item in items],
            [dict(item.headers) for item in items],
        )


class Relay:
    """Publishes the rows of one plane's outbox and marks them after the acknowledgement.

    It reads by (transaction, position) below the oldest running transaction, since a row with a lower position may
    be committed after one with a higher. An advisory lock keeps one relay a plane active; the others stand by.
    """

    def __init__(
        self, pool: "asyncpg.Pool[asyncpg.Record]", nats: Client, schema: str, *, batch: int = _BATCH
    ) -> None:
        self._pool = pool
        self._jetstream = nats.jetstream(timeout=PUBLISH_TIMEOUT_SECONDS)
        self._schema = schema
        self._batch = batch
        self._log = logger("outbox", plane=schema)
        self._published = counter("sereno.outbox.published")
        self._lag = histogram("sereno.outbox.lag")

    async def run(self, stop: asyncio.Event) -> None:
        """Relay until `stop` is set; faults of the engines are logged and tried again."""
        while not stop.is_set():
            try:
                async with self._pool.acquire() as connection:
                    await self._lead(connection, stop)
            except (*DATABASE_FAULTS, NatsError) as fault:
                self._log.warning("outbox_retry", error=str(fault) or type(fault).__name__)
            await _pause(stop, 0.5)

    async def _lead(
        self, connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]", stop: asyncio.Event
    ) -> None:
        if not await connection.fetchval(_statement(self._schema, "leader")):
            return
        loop = asyncio.get_running_loop()
        prune_at, idle = loop.time(), Idling(*_IDLE_SECONDS)
        while not stop.is_set():
            published = await self.drain(connection)
            if loop.time() >= prune_at:
                await connection.execute(_statement(self._schema, "prune"), KEEP_PUBLISHED_SECONDS)
                prune_at = loop.time() + _PRUNE_EVERY_SECONDS
            if published:
                idle.worked()
            else:
                await idle.pause(stop)

    async def drain(self, connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]") -> int:
        """Publish one batch and mark what was acknowledged; how many that were."""
        rows = await connection.fetch(_statement(self._schema, "pending"), self._batch)
        if not rows:
            return 0
        faults.point("outbox.after_commit")
        answers = await asyncio.gather(*(self._publish(row) for row in rows), return_exceptions=True)
        faults.point("outbox.after_publish")
        done = [row["position"] for row, answer in zip(rows, answers, strict=True) if answer is None]
        await connection.execute(_statement(self._schema, "mark"), done)
        self._published.add(len(done), {"plane": self._schema})
        self._lag.record(rows[0]["age_seconds"], {"plane": self._schema})
        failure = next((answer for answer in answers if answer is not None), None)
        if failure is not None:
            raise failure
        return len(done)

    async def _publish(self, row: asyncpg.Record) -> None:
        headers, began = row["headers"], time.time_ns()
        marked = {**headers, POSITION_HEADER: f"{self._schema}:{row['position']}"}
        await self._jetstream.publish(row["subject"], row["payload"], headers=marked)
        self._trace(headers.get(TRACE_HEADER), began)

    def _trace(self, at: str | None, began: int) -> None:
        if tracing.kept(at):
            about = {**_SENT, names.PLANE: self._schema}
            tracing.record(names.SEND, tracing.child(at), at, began, kind=SpanKind.PRODUCER, attributes=about)


async def lag(connection: "asyncpg.Connection[asyncpg.Record]", schema: str) -> tuple[int, float]:
    """How many rows wait in the outbox, and how old the oldest is, in seconds."""
    row = await connection.fetchrow(_statement(schema, "lag"))
    if row is None:
        raise AssertionError("an aggregate always answers one row")
    return row["waiting"], row["age_seconds"]


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
