"""Counting each report once: its position enters the inbox in the transaction that adds its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane import stopping
from sereno.control_plane.reports import anchoring
from sereno.control_plane.reports.fold import fold
from sereno.control_plane.store import notices, suspensions
from sereno.control_plane.store.notices import Notice
from sereno.control_plane.store.tables import INBOX, SUBSCRIPTION_ACTIVITY
from sereno.mailbox.audit.keys import Trusted
from sereno.subscriptions.report import (
    ActivityReport,
    AuditEndReport,
    NoticeReport,
    Report,
    StopReport,
    SuspensionEnded,
    SuspensionReport,
)

# Longer than the stream keeps a report, so that no redelivery outlives its mark.
KEEP = timedelta(days=14)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where the sending plane's outbox had the report."""

    plane: str
    position: int

    @classmethod
    def parse(cls, header: str) -> "Position":
        """From the header `<plane>:<position>`; ValueError otherwise."""
        plane, separator, position = header.partition(":")
        if not plane or not separator:
            raise ValueError(f"expected <plane>:<position>, not {header!r}")
        return cls(plane, int(position))


@dataclass(frozen=True, slots=True)
class Activity:
    """What is known of a subscription's life in the execution plane."""

    last_delivered_at: datetime | None
    counts: Mapping[str, int]


async def receive(
    connection: AsyncConnection, reports: Mapping[Position, Report], audit_keys: Trusted | None = None
) -> int:
    """Take account of the reports that were not seen before, in the caller's transaction; how many these were."""
    fresh = await _first_seen(connection, sorted(reports))
    new = [reports[position] for position in fresh]
    await suspensions.begin(connection, (one for one in new if isinstance(one, SuspensionReport)))
    await suspensions.end(connection, (one for one in new if isinstance(one, SuspensionEnded)))
    await stopping.fold(connection, [one for one in new if isinstance(one, StopReport)])
    await notices.put(connection, [_notice(one) for one in new if isinstance(one, NoticeReport)])
    sums = fold(one for one in new if isinstance(one, ActivityReport))
    if sums:
        rows = [
            {
                "tenant_id": key.tenant,
                "subscription": key.subscription,
                "outcome": key.outcome,
                "count": tally.count,
                "last_at": tally.last_at,
            }
            for key, tally in sums.items()
        ]
        statement = insert(SUBSCRIPTION_ACTIVITY).values(rows)
        added = {
            "count": SUBSCRIPTION_ACTIVITY.c.count + statement.excluded["count"],
            "last_at": func.greatest(SUBSCRIPTION_ACTIVITY.c.last_at, statement.excluded.last_at),
        }
        keys = ["tenant_id", "subscription", "outcome"]
        await connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=added))
    await anchoring.anchor(
        connection, (one for one in new if isinstance(one, AuditEndReport)), audit_keys or {}
    )
    return len(fresh)


def _notice(told: NoticeReport) -> Notice:
    return Notice(told.tenant, told.cause, told.text, told.at, told.data, told.count)


async def _first_seen(connection: AsyncConnection, positions: list[Position]) -> list[Position]:
    rows = [{"plane": position.plane, "position": position.position} for position in positions]
    if not rows:
        return []
    statement = insert(INBOX).values(rows).on_conflict_do_nothing()
    written = await connection.execute(statement.returning(INBOX.c.plane, INBOX.c.position))
    return sorted(Position(plane, position) for plane, position in written)


async def forget(connection: AsyncConnection, now: datetime) -> None:
    """Drop the marks of reports that the stream can no longer deliver again."""
    await connection.execute(delete(INBOX).where(INBOX.c.received_at < now - KEEP))


async def activities(connection: AsyncConnection, tenant: str, names: list[str]) -> dict[str, Activity]:
    """The activity of each named subscription that ever had any."""
    table = SUBSCRIPTION_ACTIVITY
    statement = select(table).where(table.c.tenant_id == tenant, table.c.subscription.in_(names))
    counts: dict[str, dict[str, int]] = {}
    delivered: dict[str, datetime] = {}
    for row in (await connection.execute(statement)).mappings():
        counts.setdefault(row["subscription"], {})[row["outcome"]] = row["count"]
        if row["outcome"] == "delivered":
            delivered[row["subscription"]] = row["last_at"]
    return {name: Activity(delivered.get(name), counted) for name, counted in counts.items()}
