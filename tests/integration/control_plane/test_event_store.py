"""The event store: who appends second learns the current version, and what happened is never rewritten."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.catalog.event import NewEvent
from sereno.control_plane.minting import utc_now
from sereno.control_plane.store.engine import open_engine
from sereno.control_plane.store.event_store import (
    Append,
    StreamId,
    VersionConflict,
    append,
    current_versions,
    read_streams,
)
from tests.engines import Engines

STREAM = StreamId("default", "agent/triage")
OTHER = StreamId("acme", "agent/triage")


def edits(stream: StreamId, expected: int, count: int = 1) -> Append:
    data = {"spec": {"text": "ü\u2028", "n": 1.5}, "labels": {}}
    return Append(stream, expected, tuple(NewEvent("agent.edited", data) for _ in range(count)))


async def write(engine: AsyncEngine, *appends: Append) -> VersionConflict | None:
    async with engine.connect() as connection:
        conflict = await append(connection, appends, actor="user:marta", recorded=utc_now(), reason="tests")
        if conflict is None:
            await connection.commit()
        return conflict


async def test_reads_a_stream_as_it_was_written(engine: AsyncEngine) -> None:
    assert await write(engine, edits(STREAM, 0, 2), edits(OTHER, 0)) is None
    assert await write(engine, edits(STREAM, 2)) is None
    async with engine.connect() as connection:
        events = await read_streams(connection, [STREAM, StreamId("default", "agent/none")])
    assert [event.version for event in events[STREAM]] == [1, 2, 3]
    assert {event.tenant for event in events[STREAM]} == {"default"}
    assert events[STREAM][0].data == {"spec": {"text": "ü\u2028", "n": 1.5}, "labels": {}}
    assert events[STREAM][0].reason == "tests"
    positions = [event.position for event in events[STREAM]]
    assert positions == sorted(positions, key=lambda position: position or 0)
    assert events[StreamId("default", "agent/none")] == ()


@pytest.mark.parametrize("expected", [0, 1, 3])
async def test_another_expected_version_is_a_conflict(engine: AsyncEngine, expected: int) -> None:
    await write(engine, edits(STREAM, 0, 2))
    assert await write(engine, edits(OTHER, 0), edits(STREAM, expected)) == VersionConflict(
        STREAM, expected, 2
    )
    async with engine.connect() as connection:
        assert await current_versions(connection, [STREAM, OTHER]) == {STREAM: 2}, "nothing of it was written"


async def test_of_two_writers_at_once_one_is_told_the_others_version(engine: AsyncEngine) -> None:
    async with engine.connect() as first:
        assert await append(first, [edits(STREAM, 0)], actor="user:a", recorded=utc_now()) is None
        # The second checks the version while the first has not committed, and then waits for its row.
        second = asyncio.create_task(write(engine, edits(STREAM, 0, 2)))
        await _until_waiting(engine)
        await first.commit()
    assert await second == VersionConflict(STREAM, 0, 1)
    async with engine.connect() as connection:
        assert await current_versions(connection, [STREAM]) == {STREAM: 1}


async def _until_waiting(engine: AsyncEngine) -> None:
    waiting = text(
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ilike 'insert%'"
    )
    async with asyncio.timeout(60), engine.connect() as connection:
        while (await connection.execute(waiting)).scalar_one() == 0:
            await connection.rollback()
            await asyncio.sleep(0.01)


async def test_many_writers_leave_one_gapless_stream(engine: AsyncEngine) -> None:
    async def writer() -> int:
        won = 0
        while won < 5:
            async with engine.connect() as connection:
                known = (await current_versions(connection, [STREAM])).get(STREAM, 0)
            won += await write(engine, edits(STREAM, known)) is None
        return won

    assert sum(await asyncio.gather(*(writer() for _ in range(4)))) == 20
    async with engine.connect() as connection:
        events = (await read_streams(connection, [STREAM]))[STREAM]
    assert [event.version for event in events] == list(range(1, 21))


@pytest.mark.parametrize("statement", ["update control.event set actor = 'x'", "delete from control.event"])
async def test_not_even_the_owner_rewrites_history(
    engine: AsyncEngine, engines: Engines, statement: str
) -> None:
    await write(engine, edits(STREAM, 0))
    owner = open_engine(engines.dsn, application_name="tests-owner")
    with pytest.raises(DBAPIError, match="append-only"):
        async with owner.begin() as connection:
            await connection.execute(text(statement))
    await owner.dispose()
