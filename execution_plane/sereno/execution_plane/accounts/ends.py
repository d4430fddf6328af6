"""The platform's events about messages that ended, where anybody listens for them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.envelope.genealogy import Genealogy, caused_by
from sereno.envelope.types import MESSAGE_DEAD, RUN_FINISHED
from sereno.execution_plane.accounts.settling import End
from sereno.execution_plane.pipeline.columns import columns
from sereno.execution_plane.pipeline.matcher import Index
from sereno.execution_plane.platform_data import MessageDead, RunFinished
from sereno.execution_plane.platform_events import envelope_of
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.execution_plane.accounts", "reconciling.sql")


async def events(conn: AnyConnection, ends: Sequence[End], index: Index) -> list[Envelope]:
    """`run.finished` or `message.dead` for each end of a tenant in which a subscription asks for that type.

    Each is caused by its message, so an agent that is woken by the end of its own run is seen by the cycle guard.
    """
    heard = [end for end in ends if index.hears(end.tenant, _kind(end))]
    if not heard:
        return []
    keys = [(end.tenant, end.message) for end in heard]
    rows = await conn.fetch(_SQL["genealogies"], *columns(keys, 2))
    causes = {row["id"]: row["envelopes"] for row in rows}
    return [_event(end, causes.get(end.message, ())) for end in heard]


def _kind(end: End) -> str:
    return RUN_FINISHED if end.dead_of is None else MESSAGE_DEAD


def _event(end: End, causes: Sequence[Mapping[str, Any]]) -> Envelope:
    if end.dead_of is None:
        data: RunFinished | MessageDead = RunFinished(
            run=end.run,
            message=end.message,
            agent=end.agent,
            subscription=end.subscription,
            attempts=end.attempts,
            result=end.result,
        )
    else:
        data = MessageDead(
            message=end.message,
            run=end.run,
            agent=end.agent,
            subscription=end.subscription,
            reason=end.dead_of,
        )
    return envelope_of(
        _kind(end),
        data,
        tenant=end.tenant,
        thing=f"run/{end.run}",
        state="finished" if end.dead_of is None else "dead",
        subject=str(end.message),
        at=end.at,
        genealogy=_genealogy(end.message, causes),
        # The end of a run belongs to the trace of what began it.
        traceparent=next((cause["traceparent"] for cause in causes if cause.get("traceparent")), None),
    )


def _genealogy(message: UUID, envelopes: Iterable[Mapping[str, Any]]) -> Genealogy | None:
    causes = [
        Genealogy(
            str(cause.get("correlationid") or cause.get("receiptid") or cause.get("id")),
            cause.get("causationid"),
            int(cause.get("hops") or 1),
        )
        for cause in envelopes
    ]
    return caused_by(str(message), causes) if causes else None
