"""Schedules in the database: derived from the catalog, claimed when due, advanced with what they emit."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.listeners.schedule import Advance, Schedule
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.subscriptions.models.source import TimeSource
from sereno.subscriptions.snapshot import CatalogObject

_SQL = queries.load("sereno.execution_plane.listeners", "schedules.sql")

Stamp = tuple[int, int, datetime]


async def manifests(pool: AnyPool) -> dict[str, Stamp]:
    """Which manifest of each tenant is in force."""
    rows = await pool.fetch(_SQL["manifests"])
    return {row["tenant_id"]: (row["epoch"], row["version"], row["received_at"]) for row in rows}


async def declared(connection: AnyConnection, tenant: str) -> list[CatalogObject]:
    """The time subscriptions of the manifest in force; no other takes its place before the transaction ends."""
    await connection.execute(_SQL["lock_catalog"], tenant)
    rows = await connection.fetch(_SQL["declared"], tenant)
    return [CatalogObject.model_validate(row["object"]) for row in rows]


async def of_tenant(connection: AnyConnection, tenant: str) -> dict[str, Schedule]:
    """The tenant's schedules by id, locked."""
    rows = await connection.fetch(_SQL["of_tenant"], tenant)
    return {str(row["schedule"]): _schedule(row) for row in rows}


async def put(connection: AnyConnection, tenant: str, schedules: Sequence[Schedule]) -> None:
    """Make exactly these the tenant's schedules."""
    await connection.execute(_SQL["remove_absent"], tenant, [UUID(one.id) for one in schedules])
    await connection.execute(
        _SQL["put"],
        [one.tenant for one in schedules],
        [UUID(one.id) for one in schedules],
        [one.subscription for one in schedules],
        [one.version for one in schedules],
        [one.source.model_dump(mode="json", exclude_none=True) for one in schedules],
        [one.misfire for one in schedules],
        [one.paused for one in schedules],
        [one.expires for one in schedules],
        [one.next_due for one in schedules],
        [one.last_instant for one in schedules],
    )


async def claim_due(connection: AnyConnection, now: datetime, limit: int) -> list[Schedule]:
    """Schedules that are due and that no other listener is at, locked until the transaction ends."""
    return [_schedule(row) for row in await connection.fetch(_SQL["claim_due"], now, limit)]


async def advance(connection: AnyConnection, steps: Sequence[Advance]) -> None:
    """Write how far each schedule has come, and the runs of instants that it left out."""
    after = [step.schedule for step in steps]
    await connection.execute(
        _SQL["advance"],
        [one.tenant for one in after],
        [UUID(one.id) for one in after],
        [one.next_due for one in after],
        [one.last_instant for one in after],
    )
    left_out = [(step.schedule, step.skipped) for step in steps if step.skipped is not None]
    if left_out:
        await connection.execute(
            _SQL["skip"],
            [one.tenant for one, _ in left_out],
            [UUID(one.id) for one, _ in left_out],
            [skipped.last for _, skipped in left_out],
            [one.subscription for one, _ in left_out],
            [skipped.reason for _, skipped in left_out],
            [skipped.count for _, skipped in left_out],
            [skipped.first for _, skipped in left_out],
        )


async def emit(
    connection: AnyConnection, signals: Sequence[tuple[Schedule, datetime, Envelope]], now: datetime
) -> list[Envelope]:
    """Write down the instants as emitted; those that were not written down before, whose signal is to leave."""
    if not signals:
        return []
    rows = await connection.fetch(
        _SQL["emit"],
        [schedule.tenant for schedule, _, _ in signals],
        [UUID(schedule.id) for schedule, _, _ in signals],
        [instant for _, instant, _ in signals],
        [schedule.subscription for schedule, _, _ in signals],
        [UUID(envelope.receiptid) for _, _, envelope in signals],
        now,
    )
    fresh = {str(row["receiptid"]) for row in rows}
    return [envelope for _, _, envelope in signals if envelope.receiptid in fresh]


def by_tenant(envelopes: Iterable[Envelope]) -> dict[str, list[Envelope]]:
    """The envelopes of each tenant, in order."""
    grouped: dict[str, list[Envelope]] = {}
    for envelope in envelopes:
        grouped.setdefault(envelope.tenantid, []).append(envelope)
    return grouped


def _schedule(row: asyncpg.Record) -> Schedule:
    return Schedule(
        tenant=row["tenant_id"],
        id=str(row["schedule"]),
        subscription=row["subscription"],
        version=row["subscription_version"],
        source=TimeSource.model_validate(row["spec"]),
        misfire=row["misfire"],
        paused=row["paused"],
        expires=row["expires"],
        next_due=row["next_due"],
        last_instant=row["last_instant"],
    )
