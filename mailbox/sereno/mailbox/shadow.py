"""The shadow: a second projection, folded from the log into tables of its own beside the one in use."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from asyncpg import Record

from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.lease import State
from sereno.mailbox.stream import Row, Stream, dead_row, fold, work_row

TABLES = ("work", "dead", "parked")
PAGE = 1000
_LEAST = UUID(int=0)

_SQL = queries.load("sereno.mailbox", "shadow.sql")

Key = tuple[str, UUID]


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that the log tells otherwise: `before` is what stands there, `after` what was folded; None is no row."""

    table: str
    key: Key
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Moment:
    """How far the log has been read: what was committed, and since when something may have been under way."""

    snapshot: str
    at: datetime
    since: datetime


class Shadow:
    """Temporary tables of one connection, which go with it."""

    def __init__(self, conn: AnyConnection) -> None:
        self._conn = conn

    async def make(self) -> None:
        """Empty tables, in place of those of an earlier shadow."""
        await self.drop()
        for table in TABLES:
            await self._conn.execute(_SQL[f"make_{table}"])

    async def drop(self) -> None:
        """Nothing is left of it."""
        await self._conn.execute(_SQL["drop"])

    async def moment(self) -> Moment:
        """Where the log stands for this transaction."""
        row = await self._conn.fetchrow(_SQL["snapshot"])
        return Moment(**dict(row)) if row is not None else await self.moment()

    async def fold_all(self, at: datetime) -> None:
        """Every stream that is not acknowledged, page by page."""
        after = _LEAST
        while messages := await self._conn.fetch(_SQL["streams"], after, PAGE):
            await self._fold(messages, at)
            after = messages[-1]["id"]

    async def changed_since(self, moment: Moment) -> list[Key]:
        """The streams that went on after that moment, or began."""
        return _keys(await self._conn.fetch(_SQL["changed"], moment.snapshot, moment.since))

    async def fold_again(self, keys: Sequence[Key], at: datetime) -> None:
        """These streams from their beginning."""
        for page in (keys[start : start + PAGE] for start in range(0, len(keys), PAGE)):
            columns = _columns(page)
            for table in TABLES:
                await self._conn.execute(_SQL[f"forget_{table}"], *columns)
            await self._fold(await self._conn.fetch(_SQL["streams_of"], *columns), at)

    async def differing(self) -> dict[str, list[Key]]:
        """Where the projection in use is not what the log tells, by table."""
        await self._conn.execute(_SQL["queue"])
        return {table: _keys(await self._conn.fetch(_SQL[f"differing_{table}"])) for table in TABLES}

    async def differences(self, differing: dict[str, list[Key]]) -> list[Difference]:
        """Both sides of these rows."""
        found: list[Difference] = []
        for table, keys in differing.items():
            stored = await self._rows(f"stored_{table}", keys)
            told = await self._rows(f"told_{table}", keys)
            found += [Difference(table, key, stored.get(key), told.get(key)) for key in keys]
        return found

    async def put_in_place(self, differing: dict[str, list[Key]]) -> None:
        """Let these rows of the projection in use be what the log tells."""
        for table, keys in differing.items():
            if keys:
                await self._conn.execute(_SQL[f"remove_{table}"], *_columns(keys))
        for table, keys in differing.items():
            if keys:
                await self._conn.execute(_SQL[f"put_{table}"], *_columns(keys))

    async def _rows(self, statement: str, keys: Sequence[Key]) -> dict[Key, Row]:
        rows = await self._conn.fetch(_SQL[statement], *_columns(keys)) if keys else ()
        return {(row["tenant_id"], row["id"]): dict(row) for row in rows}

    async def _fold(self, messages: Sequence[Record], at: datetime) -> None:
        events = await self._conn.fetch(_SQL["events"], [row["id"] for row in messages])
        by_stream = {key: list(rows) for key, rows in itertools.groupby(events, _stream_of)}
        streams = [
            fold(dict(row), map(dict, by_stream.get((row["tenant_id"], row["id"]), ())), at)
            for row in messages
        ]
        await self._write(streams)

    async def _write(self, streams: Sequence[Stream]) -> None:
        still_open = [s for s in streams if s.work.state not in {State.ACKED, State.DEAD}]
        await self._copy("shadow_work", map(work_row, still_open))
        await self._copy("shadow_dead", (dead_row(s) for s in streams if s.work.state is State.DEAD))
        parked = [
            {"tenant_id": s.message["tenant_id"], "id": s.message["id"]} | s.parked
            for s in still_open
            if s.parked is not None
        ]
        # Its JSON has no binary form to copy.
        await self._conn.executemany(_SQL["park"], [tuple(row.values()) for row in parked])

    async def _copy(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        records = list(rows)
        if records:
            columns = list(records[0])
            values = [tuple(record[column] for column in columns) for record in records]
            await self._conn.copy_records_to_table(table, columns=columns, records=values)


def _stream_of(event: Record) -> Key:
    return event["tenant_id"], event["message_id"]


def _keys(rows: Iterable[Record]) -> list[Key]:
    return [(row["tenant_id"], row["id"]) for row in rows]


def _columns(keys: Sequence[Key]) -> tuple[list[str], list[UUID]]:
    return [tenant for tenant, _ in keys], [identifier for _, identifier in keys]
