"""The rebuild: the projection is dropped and folded again from the log, and then compared with what it was."""

import itertools
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asyncpg import Record

from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.lease import CLOSED, State, Work, evolve
from sereno.mailbox.lease.log import deposited, read
from sereno.mailbox.lease.stored import columns_of

PAGE = 1000
# A due row is only one whose time has come: when that was noticed changes nothing.
_NOT_COMPARED = frozenset({"due"})
_LEAST = UUID(int=0)
_WAIT_TIMES = ("deadline", "remind_at")

_SQL = queries.load("sereno.mailbox", "rebuild.sql")

Row = Mapping[str, Any]
Key = tuple[str, UUID]


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that the log tells otherwise: `before` is what stood there, `after` what was folded; None is no row."""

    table: str
    key: Key
    before: Row | None
    after: Row | None


@dataclass(slots=True)
class Stream:
    """One message while its log is folded: the work, and what the rows of the projection keep besides."""

    message: Row
    work: Work
    row: dict[str, Any] = field(default_factory=dict)
    parked: dict[str, Any] | None = None

    def add(self, event: Row) -> None:
        """Take the next event of the log."""
        happened = read(event)
        if happened is None:
            return
        self.work = evolve(self.work, happened)
        data: Row = event["data"] or {}
        match event["kind"]:
            case "claimed":
                first = self.row.get("first_claimed_at") or event["at"]
                self.row |= {"holder": event["principal"], "incarnation": event["detail"]}
                self.row |= {"claimed_at": event["at"], "first_claimed_at": first}
            case "parked":
                self.parked = _parked(event, data)
            case "resumed":
                self.row["answered"] = True
            case "redriven":
                self.row = {"run_id": event["run_id"], "place": data["place"]}
            case "carried":
                self.row |= _carried(data["row"]) | {"run_id": event["run_id"]}
                self.parked = None if data["parked"] is None else _carried_wait(data["parked"])
        if self.work.state is not State.PARKED:
            self.parked = None
        if self.work.state in CLOSED:
            self.row["closed_at"] = self.row.get("closed_at") or event["at"]


async def rebuild(pool: AnyPool) -> list[Difference]:
    """Drop work, dead and parked rows, fold the log into them again, and answer where it differs: nowhere.

    One transaction, with the tables locked for writers; where anything differs it is rolled back, so that
    people can look. Answers that were given stay: they are a log of their own.
    """
    async with pool.acquire() as conn:
        transaction = conn.transaction()
        await transaction.start()
        try:
            await conn.execute(_SQL["lock"])
            before = {name: await _rows(conn, name) for name in ("work", "dead", "parked")}
            after = await _fold(conn)
            differences = list(_compare(before, after))
            if not differences:
                await _replace(conn, after)
        except BaseException:
            await transaction.rollback()
            raise
        await (transaction.rollback() if differences else transaction.commit())
        return differences


async def _rows(conn: AnyConnection, name: str) -> dict[Key, Row]:
    return {(row["tenant_id"], row["id"]): dict(row) for row in await conn.fetch(_SQL[name])}


async def _fold(conn: AnyConnection) -> dict[str, dict[Key, Row]]:
    streams = [stream async for page in _pages(conn) for stream in page]
    heads = _heads(streams)
    tables: dict[str, dict[Key, Row]] = {"work": {}, "dead": {}, "parked": {}}
    for stream in streams:
        key = (stream.message["tenant_id"], stream.message["id"])
        if stream.work.state is State.DEAD:
            tables["dead"][key] = _dead_row(stream)
        elif stream.work.state is not State.ACKED:
            tables["work"][key] = _work_row(stream, heads)
            if stream.parked is not None:
                tables["parked"][key] = {"tenant_id": key[0], "id": key[1]} | stream.parked
    return tables


async def _pages(conn: AnyConnection) -> AsyncIterator[list[Stream]]:
    after = _LEAST
    while messages := await conn.fetch(_SQL["streams"], after, PAGE):
        events = await conn.fetch(_SQL["events"], [row["id"] for row in messages])
        by_message = {key: list(rows) for key, rows in itertools.groupby(events, _stream_of)}
        yield [_stream(row, by_message.get((row["tenant_id"], row["id"]), ())) for row in messages]
        after = messages[-1]["id"]


def _stream_of(event: Record) -> Key:
    return event["tenant_id"], event["message_id"]


def _stream(message: Record, events: Sequence[Record]) -> Stream:
    row = dict(message)
    stream = Stream(row, deposited(row))
    for event in events:
        stream.add(dict(event))
    return stream


def _place(stream: Stream) -> int | None:
    place: int | None = stream.row.get("place", stream.message["place"])
    return place


def _heads(streams: Iterable[Stream]) -> dict[tuple[str, str, str], int]:
    """The first place of each serial key among what is open."""
    heads: dict[tuple[str, str, str], int] = {}
    for stream in streams:
        place = _place(stream)
        if stream.work.state in CLOSED or place is None:
            continue
        line = _line(stream)
        heads[line] = min(place, heads.get(line, place))
    return heads


def _line(stream: Stream) -> tuple[str, str, str]:
    message = stream.message
    return message["tenant_id"], message["agent"], message["serial_key"]


def _work_row(stream: Stream, heads: Mapping[tuple[str, str, str], int]) -> dict[str, Any]:
    message, place = stream.message, _place(stream)
    same = (
        "tenant_id",
        "id",
        "agent",
        "subscription",
        "serial_key",
        "on_behalf_of",
        "order_key",
        "max_attempts",
    )
    return {
        **{name: message[name] for name in same},
        **columns_of(stream.work),
        "run_id": stream.row.get("run_id"),
        "place": place,
        "behind": place is not None and place > heads[_line(stream)],
        "answered": stream.row.get("answered", False),
        "holder": stream.row.get("holder"),
        "incarnation": stream.row.get("incarnation"),
        "claimed_at": stream.row.get("claimed_at"),
        "first_claimed_at": stream.row.get("first_claimed_at"),
    }


def _dead_row(stream: Stream) -> dict[str, Any]:
    same = ("tenant_id", "id", "agent", "subscription", "serial_key", "on_behalf_of", "max_attempts")
    return {
        **{name: stream.message[name] for name in same},
        "run_id": stream.row.get("run_id"),
        "reason": stream.work.reason,
        "attempts": stream.work.attempts,
        "token": stream.work.token,
        "ended": stream.work.ended,
        "closed_at": stream.row["closed_at"],
    }


def _parked(event: Row, data: Row) -> dict[str, Any]:
    dependency, after = data.get("dependency"), data.get("remind_after")
    return {
        "waiting_for": event["detail"],
        "question": data.get("question"),
        "options": data.get("options"),
        "dependency": None if dependency is None else UUID(dependency),
        "deadline": event["until"],
        "remind_after": after,
        "remind_at": None if after is None else event["at"] + timedelta(seconds=after),
    }


def _carried(row: Row) -> dict[str, Any]:
    times = ("claimed_at", "first_claimed_at", "closed_at")
    read_times = {name: None if row[name] is None else datetime.fromisoformat(row[name]) for name in times}
    return {**row, **read_times}


def _carried_wait(wait: Row) -> dict[str, Any]:
    times = {name: None if wait[name] is None else datetime.fromisoformat(wait[name]) for name in _WAIT_TIMES}
    dependency = wait["dependency"]
    return {**wait, **times, "dependency": None if dependency is None else UUID(dependency)}


def _compare(
    before: Mapping[str, Mapping[Key, Row]], after: Mapping[str, Mapping[Key, Row]]
) -> Iterable[Difference]:
    for table in before:
        for key in before[table].keys() | after[table].keys():
            old, new = before[table].get(key), after[table].get(key)
            if old is None or new is None or _told(old) != _told(new):
                yield Difference(table, key, old, new)


def _told(row: Row) -> dict[str, Any]:
    # A reminder moves on each time it is given, and is no event.
    left_out = _NOT_COMPARED | {"remind_at"}
    return {name: value for name, value in row.items() if name not in left_out}


async def _replace(conn: AnyConnection, tables: Mapping[str, Mapping[Key, Row]]) -> None:
    now = await conn.fetchval("select clock_timestamp()")
    for name, rows in tables.items():
        await conn.execute(_SQL[f"drop_{name}"])
        records = [_storable(name, dict(row), now) for row in rows.values()]
        if not records:
            continue
        columns = list(records[0])
        values = [tuple(record[column] for column in columns) for record in records]
        if name == "parked":
            # Its JSON has no binary form to copy.
            await conn.executemany(_SQL["insert_parked"], values)
        else:
            await conn.copy_records_to_table(name, schema_name="mailbox", columns=columns, records=values)


def _storable(table: str, row: dict[str, Any], now: datetime) -> dict[str, Any]:
    if table == "work":
        row["due"] = row["state"] != "ready" or row["ready_at"] <= now
    return row
