"""Reckons anew what is to come of the calendars of a tenant, and tells of which that was different."""

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

from sereno.execution_plane.listeners.calendar import calendars
from sereno.execution_plane.listeners.calendar.calendars import SQL, Turn
from sereno.execution_plane.listeners.calendar.derivation import derive
from sereno.execution_plane.listeners.calendar.plan import Plan, plan
from sereno.execution_plane.listeners.calendar.reckoning import reckon
from sereno.mailbox.connection import AnyConnection


async def rebuild(connection: AnyConnection, tenant: str) -> AsyncIterator[tuple[str, tuple[str, ...]]]:
    """Each subscription whose wake-ups were not as its calendar, as read last, has them; they are afterwards."""
    # What was declared just now and no watcher has seen is no difference.
    await derive(connection, tenant, await connection.fetchval(SQL["clock"]))
    for row in await connection.fetch(SQL["of_tenant"], tenant):
        turn = calendars.turn_of(row)
        if turn.known_until is None or turn.edited:
            # It was not reckoned yet: the next look does.
            continue
        different = await _put_right(connection, turn, turn.known_until)
        await calendars.point(connection, turn.followed)
        key = (turn.followed.tenant, UUID(turn.followed.id))
        if row["next_due"] != await connection.fetchval(SQL["next_due"], *key):
            different = (*different, "next_due")
        if different:
            yield turn.followed.subscription, different


async def _put_right(connection: AnyConnection, turn: Turn, until: datetime) -> tuple[str, ...]:
    followed = turn.followed
    reading = reckon(turn, await calendars.last(connection, followed, until), until).reading
    known = await calendars.written(connection, followed, reading.wanted, reading.until)
    latest = await calendars.latest(connection, followed, (one.entry for one in reading.wanted))
    found = plan(reading.wanted, known, latest, turn.bounds)
    missing = [each for each in found.additions if each.left_out is None]
    await calendars.write(connection, followed, Plan(missing, found.removals))
    return ("pending",) if missing or found.removals else ()
