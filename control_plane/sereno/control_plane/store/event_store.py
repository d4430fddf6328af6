"""The event store: append under an expected version, and read a stream as the current release understands it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, RowMapping, Text, func, literal, select, text, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.event import NewEvent, RecordedEvent
from sereno.control_plane.store.tables import EVENT
from sereno.control_plane.store.upcasters import CURRENT_VERSIONS, upcast

# PostgreSQL takes 32,767 parameters a statement.
_ROWS_A_STATEMENT = 1_000


@dataclass(frozen=True, slots=True, order=True)
class StreamId:
    """The history of one object: tenant and `kind/name`."""

    tenant: str
    stream: str


@dataclass(frozen=True, slots=True)
class Append:
    """Events for the end of one stream, valid only if the stream still has the expected version."""

    stream: StreamId
    expected_version: int
    events: tuple[NewEvent, ...]


@dataclass(frozen=True, slots=True)
class VersionConflict:
    """Another writer was first: the stream has another version than was expected."""

    stream: StreamId
    expected_version: int
    current_version: int


async def append(
    connection: AsyncConnection,
    appends: Sequence[Append],
    *,
    actor: str,
    recorded: datetime,
    reason: str | None = None,
) -> VersionConflict | None:
    """Record all events in the caller's transaction; on a conflict the caller has to roll it back."""
    known = await current_versions(connection, [stream.stream for stream in appends])
    for stream in appends:
        if known.get(stream.stream, 0) != stream.expected_version:
            return VersionConflict(stream.stream, stream.expected_version, known.get(stream.stream, 0))
    rows = [row for stream in appends for row in _rows(stream, actor, recorded, reason)]
    for start in range(0, len(rows), _ROWS_A_STATEMENT):
        skipped = await _insert(connection, rows[start : start + _ROWS_A_STATEMENT])
        if skipped:
            return await _overtaken(connection, next(a for a in appends if a.stream in skipped))
    return None


async def _insert(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> set[StreamId]:
    """Insert what nobody else has inserted; the streams of the rows that were skipped."""
    # A writer that was first but has not committed yet makes this wait for its end.
    statement = insert(EVENT).values(rows).on_conflict_do_nothing()
    written = await connection.execute(
        statement.returning(EVENT.c.tenant_id, EVENT.c.stream, EVENT.c.version)
    )
    left = {(row["tenant_id"], row["stream"], row["version"]) for row in rows} - {
        tuple(row) for row in written
    }
    return {StreamId(str(tenant), str(stream)) for tenant, stream, _ in left}


async def _overtaken(connection: AsyncConnection, stream: Append) -> VersionConflict:
    statement = select(func.max(EVENT.c.version)).where(
        EVENT.c.tenant_id == stream.stream.tenant,
        EVENT.c.stream == stream.stream.stream,
        text("xid <> pg_current_xact_id()"),
    )
    current = (await connection.execute(statement)).scalar_one()
    return VersionConflict(stream.stream, stream.expected_version, current or 0)


def _rows(stream: Append, actor: str, recorded: datetime, reason: str | None) -> list[dict[str, object]]:
    return [
        {
            "tenant_id": stream.stream.tenant,
            "stream": stream.stream.stream,
            "version": version,
            "type": event.type,
            "schema_version": CURRENT_VERSIONS[event.type],
            "data": dict(event.data),
            "actor": actor,
            "reason": reason,
            "recorded": recorded,
        }
        for version, event in enumerate(stream.events, stream.expected_version + 1)
    ]


async def current_versions(connection: AsyncConnection, streams: Sequence[StreamId]) -> dict[StreamId, int]:
    """The version of each stream that has events."""
    statement = (
        select(EVENT.c.tenant_id, EVENT.c.stream, func.max(EVENT.c.version))
        .where(_among(streams))
        .group_by(EVENT.c.tenant_id, EVENT.c.stream)
    )
    rows = await connection.execute(statement)
    return {StreamId(tenant, stream): version for tenant, stream, version in rows}


async def read_streams(
    connection: AsyncConnection, streams: Sequence[StreamId]
) -> dict[StreamId, tuple[RecordedEvent, ...]]:
    """The events of each stream in order, none for a stream that does not exist. Raises `UnknownEventError`."""
    statement = (
        select(EVENT).where(_among(streams)).order_by(EVENT.c.tenant_id, EVENT.c.stream, EVENT.c.version)
    )
    found: dict[StreamId, list[RecordedEvent]] = {stream: [] for stream in streams}
    for row in (await connection.execute(statement)).mappings():
        event = _recorded(row)
        found[StreamId(event.tenant, event.stream)].append(event)
    return {stream: tuple(events) for stream, events in found.items()}


def _among(streams: Sequence[StreamId]) -> ColumnElement[bool]:
    # Two arrays are two parameters, however many streams are asked for.
    wanted = select(
        func.unnest(literal([s.tenant for s in streams], ARRAY(Text))),
        func.unnest(literal([s.stream for s in streams], ARRAY(Text))),
    )
    return tuple_(EVENT.c.tenant_id, EVENT.c.stream).in_(wanted)


def _recorded(row: RowMapping) -> RecordedEvent:
    return RecordedEvent(
        position=row["position"],
        tenant=row["tenant_id"],
        stream=row["stream"],
        version=row["version"],
        type=row["type"],
        data=upcast(row["type"], row["schema_version"], row["data"]),
        actor=row["actor"],
        reason=row["reason"],
        recorded=row["recorded"],
    )
