"""The gauges of the control plane: what waits for a person."""

from collections.abc import Iterable
from datetime import timedelta

from sereno.control_plane.catalog.approval import VALIDITY
from sereno.control_plane.minting import utc_now
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.readings import Look, Reading, rows

_MOMENT = timedelta(minutes=1)
_SQL = queries.load("sereno.control_plane", "gauges.sql")


def governance(pool: AnyPool) -> Look:
    """Approvals that wait, and for how long the oldest has."""

    async def look() -> Iterable[Reading]:
        # Ids are in the order of time, so that what was asked for long ago is not looked at.
        since = utc_now() - VALIDITY - _MOMENT
        lowest = uuid7(int(since.timestamp() * 1000), bytes(RANDOM_BYTES))
        return await rows(pool, _SQL["governance"], VALIDITY, lowest)

    return look
