"""The egress log: for each call of a model, to whom what went; digests and counts, never the data."""

from collections.abc import Sequence

from sereno.execution_plane.evaluator.evaluation import Egress
from sereno.execution_plane.pipeline.columns import as_json
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.execution_plane.evaluator", "egress_log.sql")


async def write(pool: AnyPool, tenant: str, subscription: str, records: Sequence[Egress]) -> None:
    """Keep these records; a call that failed has one too."""
    rows = [
        (
            *(tenant, subscription, one.evaluator, one.model, one.egress, one.host),
            *(list(one.items), one.characters, as_json(dict(one.redacted))),
        )
        for one in records
    ]
    await pool.executemany(_SQL["write"], rows)
