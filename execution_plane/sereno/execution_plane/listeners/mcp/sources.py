"""Polled sources in the database: claimed under a lease with a number, changed together with what they bring."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from sereno.execution_plane.listeners.mcp.extraction import Found
from sereno.execution_plane.listeners.mcp.novelty import Memory, News
from sereno.execution_plane.listeners.mcp.progress import Progress
from sereno.execution_plane.listeners.mcp.signal import Origin, View
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.subscriptions import observation
from sereno.subscriptions.models import ConnectorSpec
from sereno.subscriptions.models.source import McpSource

SQL = queries.load("sereno.execution_plane.listeners.mcp", "sources.sql")
KEPT_DAYS = 30
"""So long an item is known that its source does not name any more."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A connector as it has to be connected: which text of it, and after which wish to connect anew."""

    tenant: str
    name: str
    spec: ConnectorSpec
    sha256: str
    reload: int

    @property
    def key(self) -> tuple[str, str]:
        """Whose it is, and its name."""
        return self.tenant, self.name


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn at a source: `poll` is its number, with which alone anything is written."""

    connection: Connection
    source: str
    asks: McpSource
    every: timedelta
    progress: Progress
    poll: int
    failures: int
    state: str

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.connection.tenant

    @property
    def key(self) -> tuple[str, str, int]:
        """By which statements find the turn."""
        return self.tenant, self.source, self.poll

    @property
    def origin(self) -> Origin:
        """Where its items come from."""
        spec = self.connection.spec
        return Origin(
            self.tenant,
            self.connection.name,
            self.asks.tool,
            observation.call(self.asks),
            spec.sensitivity,
            spec.egress,
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """How items of a source are told apart, what of that is known, and in which views they are told."""

    id: str
    spec: McpSource
    backfill: int
    seeded_at: datetime | None
    views: Sequence[View]


async def claim(pool: AnyPool, now: datetime, most: int, lease: timedelta) -> list[Turn]:
    """Sources that are due and that nobody is at, each with a free slot of its account, for the time of a lease."""
    return [_turn(row) for row in await pool.fetch(SQL["claim"], now, most, lease)]


async def hold(connection: AnyConnection, turn: Turn) -> bool:
    """Lock the source; False when the turn was overtaken, or its connector was stopped meanwhile."""
    return await connection.fetchval(SQL["hold"], *turn.key) is not None


async def count_call(pool: AnyPool, connection: Connection, now: datetime) -> bool:
    """Whether one more call fits into the running hour, which it then is counted in."""
    most = connection.spec.limits.calls.count
    return await pool.fetchval(SQL["count_call"], *connection.key, now, most) is not None


async def readings(connection: AnyPool, turn: Turn) -> list[Reading]:
    """Every reading of a source, with its views."""
    views: dict[str, list[View]] = {}
    for row in await connection.fetch(SQL["views"], turn.tenant, turn.source):
        view = View(row["view"], row["time"], tuple(row["project"] or ()))
        views.setdefault(row["reading"], []).append(view)
    return [
        Reading(
            row["reading"],
            McpSource.model_validate(row["spec"]),
            row["backfill"],
            row["seeded_at"],
            views.get(row["reading"], ()),
        )
        for row in await connection.fetch(SQL["readings"], turn.tenant, turn.source)
    ]


async def memory(connection: AnyConnection, turn: Turn, reading: Reading, items: Sequence[Found]) -> Memory:
    """What is known of these items."""
    keys = list({item.key for item in items})
    rows = await connection.fetch(SQL["known"], turn.tenant, reading.id, keys)
    await connection.execute(SQL["met_again"], turn.tenant, reading.id, keys)
    known = {row["item"]: row["version"] for row in rows}
    return Memory(known, reading.seeded_at is not None, reading.backfill)


async def remember(  # noqa: PLR0917 - what, of whom, when
    connection: AnyConnection, turn: Turn, reading: Reading, found: News, whole: bool, now: datetime
) -> None:
    """Let the items be known; with the last page of the first look, what was there at first is."""
    if found.remember:
        await connection.execute(
            SQL["remember"],
            turn.tenant,
            reading.id,
            [item.key for item in found.remember],
            [item.state for item in found.remember],
        )
    if reading.seeded_at is None:
        left = max(0, reading.backfill - len(found.tell))
        await connection.execute(SQL["seeded"], turn.tenant, reading.id, left, now if whole else None)


async def polled(
    connection: AnyConnection, turn: Turn, progress: Progress, following: datetime, now: datetime
) -> None:
    """The turn is over: how far it came, and when the next is."""
    await connection.execute(SQL["polled"], *turn.key, progress.as_json(), following, now)
    await connection.execute(SQL["free_slot"], *turn.key)


async def put_off(connection: AnyConnection, turn: Turn, following: datetime, why: str) -> None:
    """The turn is over before anything was asked."""
    await connection.execute(SQL["put_off"], *turn.key, following, why)
    await connection.execute(SQL["free_slot"], *turn.key)


async def failed(
    connection: AnyConnection, turn: Turn, following: datetime, fault: str, stalls_at: int
) -> asyncpg.Record | None:
    """The turn is over without an answer; how often in a row, and in which state the source is."""
    row = await connection.fetchrow(SQL["failed"], *turn.key, following, fault, stalls_at)
    await connection.execute(SQL["free_slot"], *turn.key)
    return row


async def names_of(connection: AnyConnection, turn: Turn) -> list[str]:
    """Who reads a source."""
    return [row["name"] for row in await connection.fetch(SQL["reader_names"], turn.tenant, turn.source)]


async def hint(pool: AnyPool, connectors: Collection[tuple[str, str]], now: datetime) -> None:
    """Let the sources of these connectors (tenant and name) be looked at now, unless they were a moment ago."""
    if connectors:
        await pool.execute(SQL["hint"], *map(list, zip(*connectors, strict=True)), now)


async def wanting(pool: AnyPool) -> list[Connection]:
    """Connectors that are to be connected anew."""
    return [connection_of(row) for row in await pool.fetch(SQL["wanting"])]


def connection_of(row: asyncpg.Record) -> Connection:
    """The connector of a row."""
    spec = row["connector_spec"] if "connector_spec" in row.keys() else row["spec"]  # noqa: SIM118 - a record
    return Connection(
        row["tenant_id"],
        row["connector"],
        ConnectorSpec.model_validate(spec),
        row["object_sha256"],
        row["reload"],
    )


def _turn(row: asyncpg.Record) -> Turn:
    return Turn(
        connection_of(row),
        row["source"],
        McpSource.model_validate(row["spec"]),
        row["every"],
        Progress.of(row["cursor"]),
        row["poll"],
        row["failures"],
        row["state"],
    )
