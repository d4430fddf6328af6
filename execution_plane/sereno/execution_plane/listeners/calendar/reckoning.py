"""What a followed calendar calls for, from what was read of it last."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sereno.execution_plane.listeners.calendar import calendars
from sereno.execution_plane.listeners.calendar.calendars import Turn
from sereno.execution_plane.listeners.calendar.occurrence import Reading, of_date, read
from sereno.mailbox.connection import AnyConnection

LOOK_BACK = timedelta(days=2)
"""An entry that is only seen now is written down as past if it was due so recently."""
_MOMENT = timedelta(microseconds=1)


async def reckon(connection: AnyConnection, turn: Turn, texts: Sequence[str], until: datetime) -> Reading:
    """What a calendar with these texts calls for until a moment, before its subscription expires."""
    reading = await _read(connection, turn, texts, until)
    expires = turn.followed.expires
    if expires is None:
        return reading
    return replace(reading, wanted=[one for one in reading.wanted if one.fire < expires])


async def _read(connection: AnyConnection, turn: Turn, texts: Sequence[str], until: datetime) -> Reading:
    followed = turn.followed
    since = max(turn.counted_from - _MOMENT, turn.bounds.looked_at - LOOK_BACK)
    if followed.source.object is None:
        # A large calendar takes a while, and signals must not wait for it.
        return await asyncio.to_thread(read, texts, followed.source, followed.zone, since, until)
    name = followed.source.object.name
    moment = await calendars.date_of_object(connection, followed.tenant, name)
    found = of_date(f"subscription/{name}", moment, followed.source.offset or timedelta())
    return Reading([one for one in found if since < one.fire <= until], until)
