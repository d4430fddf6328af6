"""The store: loads what a round needs and writes what it decided, each kind of row with one statement."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from sereno.execution_plane.guards.dedup import BODY_WINDOW
from sereno.execution_plane.guards.ledger import Body, BodyKey, Ledger, occurrence_key
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.state import Occurrence, OccurrenceKey
from sereno.execution_plane.pipeline.arrival import Arrival, Unreadable
from sereno.execution_plane.pipeline.columns import Row, as_bytes, columns, copy, storable
from sereno.execution_plane.pipeline.round import Decided, cause_ids
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.telemetry import histogram

_due_to_decided = histogram("sereno.schedule.delivery")
_SQL = queries.load("sereno.execution_plane.pipeline", "store.sql")

_RECEIPT = (
    *("tenant_id", "receiptid", "origin", "type", "recordedtime", "envelope", "outside", "body_sha256"),
    *("duplicate_of", "decided_at"),
)
_VERDICT = (
    *("tenant_id", "receiptid", "subscription", "subscription_version", "outcome", "guard", "reason"),
    *("guards", "numbers", "message_id", "recorded_clock", "database_clock", "decided_at"),
)
DEDUP = (
    *("tenant_id", "origin", "subscription", "dedupkey"),
    *("receiptid", "outcome", "message_id", "expires_at"),
)
"""The columns of a dedup key with its occurrence, in the order in which they are copied."""
_EMPTY = b"{}"

UNMATCHED = "not_matched"
"""Why a due instant was dropped whose subscription is gone or whose filters do not hold."""


def verdicts_as_json(passage: Passage) -> bytes:
    """What every guard said of a passage."""
    return as_bytes(
        [
            {"guard": guard, "answer": answer, "reason": reason, "numbers": numbers, "outcome": outcome}
            for guard, answer, reason, numbers, outcome in passage.verdicts
        ]
    )


async def decided_receipts(conn: AnyConnection, arrivals: Sequence[Arrival]) -> set[str]:
    """The receipts among these that a committed round decided already."""
    keys = [(a.envelope.tenantid, a.envelope.receiptid) for a in arrivals]
    rows = await conn.fetch(_SQL["decided_receipts"], *columns(keys, 2))
    return {str(row["receiptid"]) for row in rows}


async def take_bodies(conn: AnyConnection, arrivals: Sequence[Arrival]) -> dict[BodyKey, str]:
    """Lock the row of each signed body, making it where it is new; the receipt that would own it, by key."""
    first: dict[BodyKey, Arrival] = {}
    for arrival in arrivals:
        if arrival.body_key is not None:
            first.setdefault(arrival.body_key, arrival)
    if first:
        rows = [
            (*key, a.envelope.receiptid, a.envelope.recordedtime, a.envelope.recordedtime + BODY_WINDOW)
            for key, a in first.items()
        ]
        await conn.execute(_SQL["take_bodies"], *columns(rows, 6), BODY_WINDOW)
    return {key: arrival.envelope.receiptid for key, arrival in first.items()}


async def load_bodies(conn: AnyConnection, taken: Mapping[BodyKey, str]) -> dict[BodyKey, Body]:
    """The bodies that an earlier round had seen, and what became of each by subscription."""
    if not taken:
        return {}
    became: dict[BodyKey, dict[str, tuple[str, UUID | None]]] = {}
    owner: dict[BodyKey, tuple[str, datetime]] = {}
    for row in await conn.fetch(_SQL["bodies"], *columns(taken, 3)):
        key = (row["tenant_id"], row["endpoint"], row["sha256"])
        receiptid = str(row["receiptid"])
        if receiptid == taken[key]:
            continue
        owner[key] = (receiptid, row["expires_at"])
        outcomes = became.setdefault(key, {})
        if row["subscription"] is not None:
            outcomes[row["subscription"]] = (row["outcome"], row["message_id"])
    return {key: Body(*owned, became[key]) for key, owned in owner.items()}


async def load_occurrences(
    conn: AnyConnection, arrivals: Sequence[Arrival]
) -> dict[OccurrenceKey, Occurrence]:
    """The dedup rows that bear on these arrivals."""
    keys = {occurrence_key(a.envelope, match.subscription) for a in arrivals for match in a.matches}
    if not keys:
        return {}
    rows = await conn.fetch(_SQL["occurrences"], *columns(keys, 4))
    return {
        (row["tenant_id"], row["origin"], row["subscription"], row["dedupkey"]): Occurrence(
            str(row["receiptid"]), row["outcome"], row["message_id"], row["expires_at"]
        )
        for row in rows
    }


async def load_causes(
    conn: AnyConnection, arrivals: Sequence[Arrival]
) -> dict[tuple[str, str], tuple[Ancestor, ...]]:
    """The lineage of each message that caused one of these arrivals, that message included."""
    keys = cause_ids(arrivals)
    if not keys:
        return {}
    rows = await conn.fetch(_SQL["causes"], *columns(keys, 2))
    return {
        (row["tenant_id"], str(row["id"])): (
            *(Ancestor(item["message"], item["agent"]) for item in row["lineage"]),
            Ancestor(str(row["id"]), row["agent"]),
        )
        for row in rows
    }


async def database_clock(conn: AnyConnection) -> datetime:
    """The database's clock, read once for a round."""
    reading: datetime = await conn.fetchval(_SQL["clock"])
    return reading


async def write_receipts(conn: AnyConnection, decided: Sequence[Decided], at: datetime) -> None:
    """Store every envelope as it was received, also those that concern nobody."""
    # What concerns a subscription is decided by whoever holds its state; what concerns none two may store at once.
    await copy(
        conn, "receipt", _RECEIPT, ((*_receipt_row(item), at) for item in decided if item.arrival.matches)
    )
    await add_receipts(conn, [item for item in decided if not item.arrival.matches], at)


async def add_receipts(conn: AnyConnection, decided: Sequence[Decided], at: datetime) -> None:
    """Store those of these envelopes that are not stored yet."""
    if decided:
        rows = [
            (*row[:5], *(text.decode() for text in row[5:7]), *row[7:]) for row in map(_receipt_row, decided)
        ]
        await conn.execute(_SQL["write_receipts"], *columns(rows, 9), at)


def _receipt_row(item: Decided) -> Row:
    envelope, key = item.arrival.envelope, item.arrival.body_key
    return (
        envelope.tenantid,
        envelope.receiptid,
        envelope.origin,
        envelope.type,
        envelope.recordedtime,
        as_bytes(item.arrival.attributes),
        as_bytes(envelope.outside) if envelope.outside else _EMPTY,
        None if key is None else key[2],
        item.duplicate_of,
    )


async def write_verdicts(conn: AnyConnection, passages: Sequence[Passage], at: datetime) -> None:
    """Store what every guard said of every passage; the caller holds the state of its subscription."""
    await copy(conn, "verdict", _VERDICT, (_verdict_row(passage, at) for passage in passages))


async def add_verdicts(conn: AnyConnection, passages: Sequence[Passage], at: datetime) -> None:
    """Store those of these verdicts that are not stored yet."""
    if passages:
        rows = [
            (*row[:7], *(text.decode() for text in row[7:9]), *row[9:11])
            for row in (_verdict_row(passage, at) for passage in passages)
        ]
        await conn.execute(_SQL["write_verdicts"], *columns(rows, 11), at)


def _verdict_row(passage: Passage, at: datetime) -> Row:
    envelope, subscription, decision = passage.envelope, passage.subscription, passage.decided
    return (
        envelope.tenantid,
        envelope.receiptid,
        subscription.name,
        subscription.version,
        decision.outcome,
        decision.guard,
        decision.reason,
        verdicts_as_json(passage),
        as_bytes(decision.numbers),
        decision.message,
        passage.given.clock.recorded,
        at,
        at,
    )


async def write_occurrences(
    conn: AnyConnection, passages: Sequence[Passage], ledger: Ledger, known: Collection[OccurrenceKey] | None
) -> None:
    """Store the dedup keys that these outcomes take; `known` were taken before, None when nobody looked."""
    taken = {occurrence_key(p.envelope, p.subscription) for p in passages if p.takes_key}
    fresh: list[Row] = []
    again: list[Row] = []
    for key in taken:
        kept = ledger.occurrences[key]
        (again if known is None or key in known else fresh).append(
            (*key, kept.receiptid, kept.outcome, kept.message, kept.expires_at)
        )
    await copy(conn, "dedup", DEDUP, fresh)
    if again:
        await conn.execute(_SQL["write_occurrences"], *columns(again, 8))


async def settle_bodies(conn: AnyConnection, taken: Mapping[BodyKey, str], ledger: Ledger) -> None:
    """Give back the row of a body that the ledger did not keep, and pass on one that a later receipt took."""
    gone = [key for key in taken if key not in ledger.bodies]
    if gone:
        await conn.execute(_SQL["forget_bodies"], *columns([(*k, taken[k]) for k in gone], 4))
    passed_on = [
        (*key, ledger.bodies[key].receiptid, ledger.bodies[key].expires_at)
        for key in taken
        if key in ledger.bodies
    ]
    if passed_on:
        await conn.execute(_SQL["own_bodies"], *columns(passed_on, 5))


async def write_due_instants(conn: AnyConnection, decided: Sequence[Decided]) -> None:
    """Store in each due instant what became of it; one that concerned nobody any more was dropped for that."""
    await end_due_instants(
        conn, [row for item in decided if _is_due_instant(item) for row in _outcomes(item)]
    )


async def end_due_instants(conn: AnyConnection, rows: Sequence[Row]) -> None:
    """Store what became of due instants: tenant, receipt, outcome and reason of each."""
    if rows:
        for row in await conn.fetch(_SQL["write_due_instants"], *columns(rows, 4)):
            _due_to_decided.record(row["seconds"], {"outcome": row["outcome"]})


def _is_due_instant(item: Decided) -> bool:
    return item.arrival.envelope.origin.startswith(("time/", "calendar/"))


def _outcomes(item: Decided) -> list[Row]:
    envelope = item.arrival.envelope
    said = [(p.decided.outcome, p.decided.reason) for p in item.passages] or [("dropped", UNMATCHED)]
    return [(envelope.tenantid, envelope.receiptid, outcome, reason) for outcome, reason in said]


async def write_quarantine(conn: AnyConnection, unreadable: Sequence[Unreadable]) -> list[Unreadable]:
    """Keep the bytes of what cannot be decided, each once; those that were not kept before."""
    by_key = {(item.tenant, sha256(item.content).hexdigest()): item for item in unreadable}
    if not by_key:
        return []
    rows = [
        (*key, item.receiptid, item.content, storable(item.error), item.sequence)
        for key, item in sorted(by_key.items(), key=lambda entry: entry[0])
    ]
    fresh = await conn.fetch(_SQL["write_quarantine"], *columns(rows, 6))
    return [by_key[row["tenant_id"], row["sha256"]] for row in fresh]
