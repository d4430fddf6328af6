"""The items of batches: events that were stored by earlier rounds, and those that this one adds."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sereno.execution_plane.guards.batch import BatchItem, OpenBatch
from sereno.execution_plane.guards.changes import Join
from sereno.execution_plane.pipeline.columns import columns
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.execution_plane.pipeline", "guard_state.sql")


async def of(
    conn: AnyConnection, batches: Iterable[OpenBatch], joins: Iterable[Join]
) -> Mapping[UUID, Sequence[BatchItem]]:
    """Every event of these batches, in order, by batch."""
    wanted = {batch.id: batch for batch in batches}
    found: dict[UUID, dict[int, BatchItem]] = {identity: {} for identity in wanted}
    keys = [(batch.tenant, identity) for identity, batch in wanted.items()]
    for row in await conn.fetch(_SQL["batch_items"], *columns(keys, 2)):
        item = BatchItem(row["batch_id"], row["place"], str(row["receiptid"]), row["envelope"], ())
        found[item.batch][item.place] = item
    # A receipt of this round is not stored yet, unless it was held.
    for join in joins:
        if join.item.batch in found:
            found[join.item.batch][join.item.place] = join.item
    return {identity: [items[place] for place in sorted(items)] for identity, items in found.items()}
