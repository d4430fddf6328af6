"""What people and subscriptions are told of polled sources (pure)."""

from collections.abc import Sequence
from datetime import datetime

from sereno.envelope.envelope import Envelope
from sereno.envelope.types import CURSOR_LOST, SOURCE_CHANGED, SOURCE_STALLED
from sereno.execution_plane.listeners.mcp.sources import Connection, Turn
from sereno.execution_plane.platform_data import CursorLost, SourceChanged, SourceStalled
from sereno.execution_plane.platform_events import envelope_of
from sereno.mailbox.notices import Notice

Told = tuple[Notice, Envelope]


def stalled(turn: Turn, names: Sequence[str], failures: int, fault: str, at: datetime) -> Told:
    """A source could not be read several times in a row."""
    connector = turn.connection.name
    text = (
        f"the source {turn.asks.tool} of connector {connector} could not be read {failures} times in a row: {fault}; "
        f"it is tried again, later and later (read by {', '.join(names)})"
    )
    data = SourceStalled(
        connector=connector,
        source=turn.source,
        tool=turn.asks.tool,
        subscriptions=list(names),
        failures=failures,
        fault=fault,
        at=at,
    )
    event = envelope_of(
        SOURCE_STALLED,
        data,
        tenant=turn.tenant,
        thing=f"source/{turn.source}",
        state=f"stalled/{turn.poll}",
        subject=connector,
        at=at,
    )
    owner = turn.connection.spec.owner
    return Notice(
        turn.tenant,
        f"source_stalled/{connector}/{turn.source}",
        text,
        {"connector": connector, "owner": owner, "subscriptions": list(names)},
    ), event


def stopped(connection: Connection, cause: str, why: str, names: Sequence[str], at: datetime) -> Told:
    """A connector was stopped, because its server is not what it was."""
    due = f"; recheck due: {', '.join(names)}" if names else ""
    text = (
        f"connector {connection.name} was stopped: {why}{due}; look at it (sereno connectors show {connection.name}), "
        f"then accept it (sereno connectors pin {connection.name}) or change the connector"
    )
    data = SourceChanged(connector=connection.name, cause=cause, sentence=why, recheck_due=list(names), at=at)
    event = envelope_of(
        SOURCE_CHANGED,
        data,
        tenant=connection.tenant,
        thing=f"connector/{connection.name}",
        state=f"{cause}/{at.isoformat()}",
        subject=connection.name,
        at=at,
    )
    told = {"connector": connection.name, "owner": connection.spec.owner, "recheck_due": list(names)}
    return Notice(connection.tenant, f"{cause}/{connection.name}", text, told), event


def cursor_lost(  # noqa: PLR0917 - which subscription, where it begins, when
    tenant: str, subscription: str, version: int, connector: str, begins: str, at: datetime
) -> Told:
    """A subscription reads another thing than before, so that it begins anew."""
    text = (
        f"{subscription} (version {version}) asks another thing of connector {connector}: how far it was read does not "
        f"count any more, and it begins at {begins}; first: {{backfill: N}} tells of the N items before that"
    )
    event = envelope_of(
        CURSOR_LOST,
        CursorLost(subscription=subscription, connector=connector, begins=begins, at=at),
        tenant=tenant,
        thing=f"subscription/{subscription}",
        state=f"cursor_lost/{version}",
        subject=subscription,
        at=at,
    )
    cause = f"cursor_lost/{subscription}/{version}"
    return Notice(tenant, cause, text, {"subscription": subscription, "begins": begins}), event


def unreadable(turn: Turn, sentences: Sequence[str]) -> Notice:
    """Items that cannot be told apart, or are too large."""
    more = f", and {len(sentences) - 1} more" if len(sentences) > 1 else ""
    text = (
        f"the source {turn.asks.tool} of connector {turn.connection.name} has items that wake nobody: "
        f"{sentences[0][:500]}{more}"
    )
    cause = f"source_item/{turn.connection.name}/{turn.source}"
    return Notice(turn.tenant, cause, text, {"connector": turn.connection.name})


def used_up(turn: Turn) -> Notice:
    """The calls of an hour are used up."""
    connection = turn.connection
    text = (
        f"connector {connection.name} has used its {connection.spec.limits.calls} calls: "
        "its sources are read on in the next hour"
    )
    return Notice(connection.tenant, f"calls_used_up/{connection.name}", text, {"connector": connection.name})
