"""The gauges of the control plane: what waits for a person."""

from collections.abc import Iterable

from sereno.control_plane.catalog.approval import VALIDITY
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.readings import Look, Reading, rows

_SQL = queries.load("sereno.control_plane", "gauges.sql")


def governance(pool: AnyPool) -> Look:
    """Approvals that wait, and for how long the oldest has."""

    async def look() -> Iterable[Reading]:
        return await rows(pool, _SQL["governance"], VALIDITY)

    return look
