"""The quarantine: where an event goes that cannot be decided for a reason of its data, so that the others can."""

from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
import orjson

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.pipeline import store
from sereno.execution_plane.pipeline.arrival import Arrival, Unreadable
from sereno.execution_plane.pipeline.columns import storable
from sereno.execution_plane.pipeline.round import Decided, undecided
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.notices import Notice

UNDECIDABLE = "undecidable"
UNREADABLE = "unreadable"
_DATA_FAULTS = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.UntranslatableCharacterError,
)
_KEPT = (
    "specversion",
    "id",
    "source",
    "type",
    "time",
    "receiptid",
    "tenantid",
    "origin",
    "recordedtime",
    "dedupkey",
)


def is_fault_of_data(fault: Exception) -> bool:
    """Whether trying the same events again would fail the same way; a fault of an engine passes."""
    return isinstance(fault, _DATA_FAULTS) or not isinstance(fault, DATABASE_FAULTS)


def unreadable(arrival: Arrival, fault: Exception) -> Unreadable:
    """The bytes of an event that cannot be decided, with the fault as it can be stored."""
    error = storable(f"{type(fault).__name__}: {fault}")
    envelope = arrival.envelope
    content = orjson.dumps(arrival.attributes)
    return Unreadable(envelope.tenantid, arrival.sequence, content, error, envelope.receiptid)


async def keep(conn: AnyConnection, items: Sequence[Unreadable]) -> None:
    """Keep the bytes of these, and tell of each kind of fault that is new, with two statements for all."""
    fresh = await store.write_quarantine(conn, items)
    await notices.record(conn, map(_notice, fresh))


def _notice(item: Unreadable) -> Notice:
    what = "an event" if item.receiptid is None else f"the event {to_people('rcp', item.receiptid)}"
    return Notice(
        item.tenant,
        f"quarantine/{UNREADABLE if item.receiptid is None else UNDECIDABLE}",
        f"{what} could not be decided and woke nobody: {storable(item.error)}",
        {"receiptid": item.receiptid, "stream_sequence": item.sequence},
    )


async def put_away(conn: AnyConnection, arrival: Arrival, kept: Unreadable) -> None:
    """Keep the bytes, and store an `error` for every subscription that the event concerned."""
    at = await store.database_clock(conn)
    bare = Arrival(arrival.envelope, _kept(arrival.attributes), arrival.matches, arrival.sequence)
    passages = [undecided(bare, match.subscription, at, UNDECIDABLE, kept.error) for match in arrival.matches]
    decided = [Decided(bare, passages, None)]
    await store.add_receipts(conn, decided, at)
    await store.add_verdicts(conn, passages, at)
    await store.write_due_instants(conn, decided)
    await keep(conn, [kept])


def _kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: storable(str(attributes[name])) for name in _KEPT if name in attributes}
