"""Lifting: a person ends suspensions; what tripped them begins anew, and what they hold goes where the person says."""

from collections.abc import Iterable, Sequence

from sereno.execution_plane.guards.changes import Change, Remember, RememberPatience, RememberSubject
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.state import SubscriptionKey
from sereno.execution_plane.guards.suspension import Suspension
from sereno.execution_plane.pipeline import guard_changes, guard_state, store
from sereno.execution_plane.pipeline.commit import PLANE, PRINCIPAL, SUSPENDED
from sereno.execution_plane.pipeline.delivery import Clock
from sereno.execution_plane.pipeline.resolution import Changes
from sereno.mailbox import standing
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import outbox, queries
from sereno.mailbox.engine.bus import report_subject
from sereno.mailbox.wake import Box
from sereno.subscriptions import report
from sereno.subscriptions.snapshot import Lift

_SQL = queries.load("sereno.execution_plane.pipeline", "lifting.sql")


async def lift(
    conn: AnyConnection, tenant: str, lifts: Sequence[Lift], clock: Clock = store.database_clock
) -> set[Box]:
    """End these suspensions in the caller's transaction; answers the mailboxes to wake after the commit.

    One that ended already, or that this plane does not know, is passed over: a manifest names them until it is told.
    """
    columns = [one.suspension for one in lifts], [one.held for one in lifts]
    named = await conn.fetch(_SQL["to_lift"], tenant, *columns)
    if not named:
        return set()
    keys = {(tenant, row["subscription"]) for row in named}
    ledger = Ledger(
        memories=await guard_state.lock_state(conn, keys),
        suspensions=await guard_state.suspensions(conn, keys),
        patience=await guard_state.patience(conn, keys),
    )
    at = await clock(conn)
    ended = {key: ledger.lift(key, [one.suspension for one in lifts]) for key in keys}
    await guard_changes.write_memories(conn, Changes(_touched(ledger, ended)), ledger)
    await guard_changes.write_subjects(conn, Changes(_touched(ledger, ended)), at)
    await conn.execute(
        _SQL["lift"], tenant, *columns, [one.by for one in lifts], [one.reason for one in lifts], at
    )
    told = [
        report.SuspensionEnded(tenant=tenant, id=row["id"], subscription=row["subscription"], at=at)
        for row in named
    ]
    subject = report_subject(PLANE, tenant)
    await outbox.append(conn, PLANE, [outbox.Outgoing(subject, tenant, report.dumps(one)) for one in told])
    return await _unhold(conn, [key for key in sorted(keys) if not ledger.suspensions.get(key)])


def _touched(ledger: Ledger, ended: dict[SubscriptionKey, list[Suspension]]) -> Iterable[Change]:
    """The rows that were begun anew, as they stand."""
    for key, suspensions in ended.items():
        for one in suspensions:
            if one.subject is not None:
                row = (*key, one.subject)
                if row in ledger.subjects:
                    yield RememberSubject(row, ledger.subjects[row])
            elif key in ledger.memories:
                yield Remember(key, ledger.memories[key])
            if key in ledger.patience:
                yield RememberPatience(key, ledger.patience[key])


async def _unhold(conn: AnyConnection, keys: Iterable[SubscriptionKey]) -> set[Box]:
    boxes: set[Box] = set()
    for key in keys:
        boxes |= await standing.unhold(conn, *key, SUSPENDED, principal=PRINCIPAL)
    return boxes
