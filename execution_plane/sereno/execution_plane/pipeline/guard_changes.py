"""Guard changes: writes what a round decided, each kind of row with one statement, in the caller's transaction."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from sereno.execution_plane.guards import changes as c
from sereno.execution_plane.guards.account import Account
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.budget import Line, Reservation
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.recent import Recent
from sereno.execution_plane.guards.state import Memory, SubjectMemory, SubscriptionKey
from sereno.execution_plane.guards.storm import TURNS_WINDOW
from sereno.execution_plane.pipeline.columns import (
    Row,
    ancestors_as_json,
    as_array,
    as_bytes,
    as_json,
    columns,
    copy,
)
from sereno.execution_plane.pipeline.resolution import Changes
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

# What an outage held back is counted by the clock of its receipt, and decided so much later at most.
_BACKLOG = timedelta(days=7)
_RESERVATION = ("tenant_id", "message_id", "lines", "reserved_at")
_ITEM = ("tenant_id", "batch_id", "place", "receiptid")
_SQL = queries.load("sereno.execution_plane.pipeline", "guard_changes.sql")

DueOf = Callable[[OpenBatch], datetime]
"""When a batch has to be asked whether it becomes a message."""


async def write_memories(conn: AnyConnection, changes: Changes, ledger: Ledger) -> None:
    """Store what each subscription, each object and each evaluator's patience has become."""
    keys = {change.key for change in changes.of(c.Remember)}
    await write_state(conn, {key: ledger.memories[key] for key in keys})
    patient = {change.key for change in changes.of(c.RememberPatience)}
    if patient:
        rows: list[Row] = [(*key, *ledger.patience[key]) for key in sorted(patient)]
        await conn.execute(_SQL["write_patience"], *columns(rows, 7))


async def write_state(conn: AnyConnection, memories: Mapping[SubscriptionKey, Memory]) -> None:
    """Store what each subscription remembers now."""
    rows: list[Row] = [
        (*key, m.last_recorded, m.last_delivered, m.deliveries, as_array(m.arrivals))
        for key, m in memories.items()
    ]
    if rows:
        await conn.execute(_SQL["write_state"], *columns(rows, 6))


async def write_subjects(conn: AnyConnection, changes: Changes, at: datetime) -> None:
    """Store what is remembered of each object now."""
    memories = {change.key: change.memory for change in changes.of(c.RememberSubject)}
    rows: list[Row] = [
        (
            *key,
            as_array(memory.arrivals),
            as_array(memory.turns),
            memory.actor,
            memory.actor_before,
            at + _counts_for(memory) + _BACKLOG,
        )
        for key, memory in memories.items()
    ]
    if rows:
        await conn.execute(_SQL["write_subjects"], *columns(rows, 8))


def _counts_for(memory: SubjectMemory) -> timedelta:
    return max(TURNS_WINDOW, _window(memory.arrivals), _window(memory.turns))


def _window(recent: Recent | None) -> timedelta:
    return timedelta() if recent is None else timedelta(microseconds=recent.window)


async def write_budgets(conn: AnyConnection, changes: Changes, at: datetime) -> None:
    """Add to each account what was taken and given back, in one sum, and store the reservations."""
    reservations = [change.reservation for change in changes.of(c.Reserve)]
    await charge(conn, [*_sums(reservations), *_charges(changes)])
    # Most activations of a subscription take the very same lines.
    written = {id(one.lines): lines_as_json(one.lines) for one in _distinct(reservations)}
    rows: list[Row] = [(one.tenant, one.message, written[id(one.lines)], at) for one in reservations]
    await copy(conn, "budget_reservation", _RESERVATION, rows)
    settled = {change.reservation.message: change for change in changes.of(c.Settled)}
    if settled:
        rows = [
            (one.tenant, one.message, lines_as_json(one.lines or kept).decode(), _reported(one))
            for one, kept in settled.values()
        ]
        await conn.execute(_SQL["settle"], *columns(rows, 4))


async def write_charges(
    conn: AnyConnection, tenant: str, identity: UUID, charges: Sequence[c.Charge], at: datetime
) -> None:
    """Store what was used without having been reserved, beside the reservations and closed already."""
    lines = lines_as_json(Line(one.account, one.amount) for one in charges)
    row = tenant, identity, lines, at, "acked", at
    await copy(conn, "budget_reservation", (*_RESERVATION, "closed", "closed_at"), [row] if charges else [])


def _distinct(reservations: Iterable[Reservation]) -> Iterable[Reservation]:
    """One reservation for each set of lines that is the same object."""
    return {id(one.lines): one for one in reservations}.values()


def _sums(reservations: Sequence[Reservation]) -> Iterator[Line]:
    """What these take of each account, the same lines counted instead of added."""
    times = Counter(id(one.lines) for one in reservations)
    for one in _distinct(reservations):
        for account, amount in one.lines:
            yield Line(account, amount * times[id(one.lines)])


def _charges(changes: Changes) -> list[Line]:
    return [Line(change.account, change.amount) for change in changes.of(c.Charge)]


async def charge(conn: AnyConnection, lines: Iterable[Line]) -> None:
    """Add amounts to accounts whose rows the transaction has locked."""
    sums: dict[Account, Decimal] = {}
    for account, amount in lines:
        sums[account] = sums.get(account, Decimal()) + amount
    rows: list[Row] = [(*account, amount) for account, amount in sums.items() if amount]
    if rows:
        await conn.execute(_SQL["charge"], *columns(rows, 7))


def lines_as_json(lines: Iterable[Line]) -> bytes:
    """The lines of a reservation: scope, name, measure, period, start and amount of each."""
    return as_bytes([[*account[1:], str(amount)] for account, amount in lines])


def _reported(reservation: Reservation) -> str:
    return as_json([[str(money.amount), money.currency] for money in reservation.reported])


async def write_batches(conn: AnyConnection, changes: Changes, due_of: DueOf, at: datetime) -> None:
    """Store open batches with their new items, and close those that became a message or were dropped."""
    # What finds no room seals a batch after all its items.
    joined = [change.batch for change in changes.of(c.Join)]
    batches = {batch.id: batch for batch in (*joined, *(change.batch for change in changes.of(c.Seal)))}
    rows: list[Row] = [_batch_row(batch, due_of(batch)) for batch in batches.values()]
    if rows:
        await conn.execute(_SQL["write_batches"], *columns(rows, 11))
    joins = changes.of(c.Join)
    if joins:
        rows = [(join.batch.tenant, join.item.batch, join.item.place, join.item.receiptid) for join in joins]
        await copy(conn, "batch_item", _ITEM, rows)
    await close(conn, changes.of(c.Close), at)


async def close(conn: AnyConnection, closed: Sequence[c.Close], at: datetime) -> None:
    """Let batches that take no more part say what they became."""
    rows: list[Row] = [
        (one.batch.tenant, one.batch.id, one.message, one.reason, one.delivered) for one in closed
    ]
    if rows:
        await conn.execute(_SQL["close_batches"], *columns(rows, 5), at)


def _batch_row(batch: OpenBatch, due: datetime) -> Row:
    return (
        batch.tenant,
        batch.id,
        batch.subscription,
        batch.key,
        batch.serial_key,
        batch.opened,
        batch.items,
        batch.size,
        ancestors_as_json(batch.ancestors),
        batch.sealed,
        due,
    )


async def postpone(conn: AnyConnection, due: Mapping[tuple[str, object], datetime]) -> None:
    """Ask these batches again at another time: by tenant and id."""
    if due:
        await conn.execute(_SQL["postpone"], *columns([(*key, at) for key, at in due.items()], 3))


async def write_suspensions(conn: AnyConnection, changes: Changes) -> None:
    """Store the suspensions that a round began."""
    rows: list[Row] = [
        (
            one.tenant,
            one.id,
            one.subscription,
            one.cause,
            one.subject,
            one.at,
            one.receiptid,
            as_json(one.numbers),
        )
        for one in (change.suspension for change in changes.of(c.Suspend))
    ]
    if rows:
        await conn.execute(_SQL["suspend"], *columns(rows, 8))


async def write_held(conn: AnyConnection, passages: Iterable[Passage], at: datetime) -> None:
    """Store which receipts a subscription has yet to hear of, and what holds them."""
    rows: list[Row] = [
        (hold.tenant, hold.receiptid, hold.subscription, hold.cause, _scope(passage), hold.suspension)
        for passage in passages
        if passage.decided.outcome in ("held", "suspended")
        for hold in passage.changes
        if isinstance(hold, c.Hold)
    ]
    if rows:
        await conn.execute(_SQL["hold"], *columns(rows, 6), at)


def _scope(passage: Passage) -> object:
    decided = passage.decided
    return decided.numbers.get("scope") if decided.reason == "stopped" else None


async def write_evaluations(conn: AnyConnection, changes: Changes) -> None:
    """Store the candidates that have to be judged."""
    rows: list[Row] = [
        (
            one.tenant,
            one.receiptid,
            one.subscription,
            one.version,
            one.criterion,
            ancestors_as_json(one.ancestors),
            one.requested,
        )
        for one in (change.evaluation for change in changes.of(c.Evaluate))
    ]
    if rows:
        await conn.execute(_SQL["evaluate"], *columns(rows, 7))
