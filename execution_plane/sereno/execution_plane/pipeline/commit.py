"""The commit: what a resolution writes, all of it, in the caller's transaction and in the lock order of the plane."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from sereno.execution_plane import platform_events
from sereno.execution_plane.guards import batching, flush
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.changes import Join, Suspend
from sereno.execution_plane.guards.state import NOTHING
from sereno.execution_plane.guards.suspension import Suspension, sentence
from sereno.execution_plane.pipeline import batch_items, guard_changes, store
from sereno.execution_plane.pipeline.columns import Row, columns
from sereno.execution_plane.pipeline.resolution import Flushed, Resolution
from sereno.execution_plane.pipeline.round import Decided, activity
from sereno.execution_plane.pipeline.wake_up import Told, message_of, message_of_batch
from sereno.mailbox import notices, standing
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine import outbox, queries
from sereno.mailbox.engine.bus import report_subject
from sereno.mailbox.message import Message
from sereno.mailbox.notices import Notice
from sereno.subscriptions import report

PLANE = "execution"
SUSPENDED = "suspended"
PRINCIPAL = "system:guards"
# What somebody else has to set free is looked at so often, for nobody tells when that is.
FROZEN = timedelta(seconds=2)
BUSY = timedelta(milliseconds=500)

_SQL = queries.load("sereno.execution_plane.pipeline", "commit.sql")


async def write_guards(conn: AnyConnection, done: Resolution) -> None:
    """Store what the guards remember afterwards: the rows that come before messages in the order of locks."""
    at, changes = done.setting.database, done.changes
    await guard_changes.write_memories(conn, changes, done.ledger)
    await guard_changes.write_subjects(conn, changes, at)
    await store.write_occurrences(conn, done.passages, done.ledger, done.known)
    await guard_changes.write_budgets(conn, changes, at)
    await guard_changes.write_batches(conn, changes, lambda batch: _due(done, batch), at)
    await guard_changes.postpone(conn, dict(_asked_again(done.flushed, at)))
    await guard_changes.write_suspensions(conn, changes)
    await guard_changes.write_held(conn, done.passages, at)
    await guard_changes.write_evaluations(conn, changes)


def _due(done: Resolution, batch: OpenBatch) -> datetime:
    key = batch.tenant, batch.subscription
    return batching.due(batch, done.policies[key], done.ledger.memories.get(key, NOTHING))


def _asked_again(flushed: Iterable[Flushed], at: datetime) -> Iterable[tuple[tuple[str, object], datetime]]:
    for one in flushed:
        match one.answer:
            case flush.Later(moment):
                # Also when a message of the subscription closes, of which nobody tells.
                yield (one.batch.tenant, one.batch.id), _sooner(moment, at + BUSY, busy=moment is None)
            case flush.Frozen():
                yield (one.batch.tenant, one.batch.id), at + FROZEN


def _sooner(moment: datetime | None, soon: datetime, *, busy: bool) -> datetime:
    return soon if busy or moment is None else moment


async def deposit_messages(conn: AnyConnection, done: Resolution) -> list[Message]:
    """Put what was decided into mailboxes; what a new suspension stops is held there.

    What lies there already is held before anything is added: who ends a lease holds its row while it asks for the line
    of its serial key, which is taken here with the deposit.
    """
    messages = await _messages(conn, done)
    stopped = {(one.tenant, one.subscription) for one in suspensions_of(done) if one.subject is None}
    await _hold(conn, stopped)
    await deposit(conn, messages)
    await _hold(conn, stopped & {(one.tenant, one.subscription.name) for one in messages})
    return messages


async def _hold(conn: AnyConnection, keys: Collection[tuple[str, str]]) -> None:
    await standing.lock(conn, sorted(keys))
    for key in sorted(keys):
        await standing.hold(conn, *key, SUSPENDED, cancel=False, principal=PRINCIPAL)


async def _messages(conn: AnyConnection, done: Resolution) -> list[Message]:
    delivered = [one.batch for one in done.flushed if isinstance(one.answer, flush.Delivered)]
    items = await batch_items.of(conn, delivered, done.changes.of(Join)) if delivered else {}
    found, told = [], Told()
    for step in done.steps:
        if isinstance(step, Decided):
            found += [
                message_of(passage, step.arrival.attributes, told)
                for passage in step.passages
                if passage.decided.outcome == "delivered"
            ]
        elif isinstance(step.answer, flush.Delivered):
            found.append(
                message_of_batch(step.answer, step.batch, items[step.batch.id], step.subscription, told)
            )
    return found


def suspensions_of(done: Resolution) -> list[Suspension]:
    """The suspensions that the round began."""
    return [change.suspension for change in done.changes.of(Suspend)]


def dropped(flushed: Iterable[Flushed]) -> list[Row]:
    """Tenant, id, guard and reason of each batch that never becomes a message."""
    return [
        (
            one.batch.tenant,
            one.batch.id,
            "delivery" if one.answer.reason == "busy" else "rights",
            one.answer.reason,
        )
        for one in flushed
        if isinstance(one.answer, flush.Dropped)
    ]


async def drop_items(conn: AnyConnection, rows: Sequence[Row], at: datetime) -> None:
    """Let the verdict of each event in a batch that was dropped say so."""
    if rows:
        turned = columns(rows, 4)
        await conn.execute(_SQL["drop_items"], *turned, at)
        await conn.execute(_SQL["drop_keys"], *turned[:2])


async def tell(conn: AnyConnection, done: Resolution) -> None:
    """Report to the control plane, let the platform say what happened, and tell the owners, each once."""
    at, suspended = done.setting.database, suspensions_of(done)
    counts = Counter(
        (passage.envelope.tenantid, passage.subscription.name, str(passage.decided.outcome))
        for passage in done.passages
    )
    counts.update(
        (one.batch.tenant, one.batch.subscription, "delivered")
        for one in done.flushed
        if isinstance(one.answer, flush.Delivered)
    )
    told: Sequence[report.Report] = [*activity(counts, at), *map(_report, suspended)]
    items = [
        outbox.Outgoing(report_subject(PLANE, one.tenant), one.tenant, report.dumps(one)) for one in told
    ]
    events = [platform_events.suspended(one, sentence(one)) for one in suspended]
    await outbox.append(conn, PLANE, items + platform_events.outgoing(events))
    await notices.record(conn, map(_notice, suspended))


def _report(one: Suspension) -> report.SuspensionReport:
    return report.SuspensionReport(
        tenant=one.tenant,
        id=one.id,
        subscription=one.subscription,
        cause=one.cause,
        subject=one.subject,
        at=one.at,
        sentence=sentence(one),
    )


def _notice(one: Suspension) -> Notice:
    data = {"suspension": str(one.id), "cause": one.cause, "receipt": one.receiptid, "subject": one.subject}
    return Notice(one.tenant, f"suspended/{one.subscription}/{one.id}", sentence(one), data)
