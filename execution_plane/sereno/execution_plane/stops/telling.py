"""What is told of a stop: an event of the platform for each tenant, one notice, and a report to the control plane."""

from sereno.envelope.envelope import Envelope
from sereno.envelope.types import ESTOP
from sereno.execution_plane import platform_events
from sereno.execution_plane.platform_data import EmergencyStop
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine.bus import report_subject
from sereno.mailbox.engine.outbox import Outgoing
from sereno.mailbox.notices import Notice
from sereno.mailbox.scope import EVERYTHING, Scope
from sereno.mailbox.stop import Beginning
from sereno.subscriptions.report import StopReport, dumps

PLANE = "execution"


def event(tenant: str, said: EmergencyStop) -> Envelope:
    """The event that a stop began or ended, as one tenant hears of it."""
    return platform_events.envelope_of(
        ESTOP,
        said,
        tenant=tenant,
        thing=f"stop/{said.stop}",
        state=said.state,
        subject=said.scope,
        at=said.at,
    )


def report_of(one: Beginning) -> StopReport:
    """What the control plane records of a stop that it may not have ordered itself."""
    return StopReport(
        tenant=Scope.parse(one.scope).tenant or EVERYTHING,
        id=one.id,
        scope=one.scope,
        reason=one.reason,
        by=one.principal,
        at=one.at,
    )


def report(one: Beginning) -> Outgoing:
    """The same as a row of the outbox."""
    told = report_of(one)
    return Outgoing(report_subject(PLANE, told.tenant), told.tenant, dumps(told))


async def note(conn: AnyConnection, scope: Scope, said: EmergencyStop) -> None:
    """Tell people, once for the beginning and once for the end."""
    words = {
        "engaged": f"{said.by} stopped {scope_in_words(scope)}: {said.reason}",
        "released": f"{said.by} let {scope_in_words(scope)} go on ({said.held}): {said.reason}",
    }
    data = {"stop": str(said.stop), "scope": said.scope, "state": said.state, "by": said.by}
    cause = f"estop/{said.scope}/{said.stop}/{said.state}"
    await notices.record(conn, [Notice(scope.tenant or EVERYTHING, cause, words[said.state], data)])


def scope_in_words(scope: Scope) -> str:
    """A scope as people read it."""
    return "everything" if scope == Scope() else str(scope)
