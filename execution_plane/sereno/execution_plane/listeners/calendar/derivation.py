"""Which calendars are followed: those of the catalog's subscriptions, brought in line when a manifest changed."""

from datetime import datetime
from uuid import UUID

import asyncpg

from sereno.execution_plane.listeners.calendar.calendars import SQL, followed_of
from sereno.execution_plane.listeners.calendar.followed import Followed
from sereno.execution_plane.listeners.schedule import LIVE
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.models.source import CalendarSource
from sereno.subscriptions.snapshot import CatalogObject

_log = logger("calendar")
_PLACE = ("file", "url", "caldav", "object", "credentials")


async def derive(connection: AnyConnection, tenant: str, now: datetime) -> None:
    """Follow what is declared now and nothing else, in the caller's transaction."""
    await connection.execute(SQL["lock_catalog"], tenant)
    for row in await connection.fetch(SQL["gone"], tenant):
        key = (row["tenant_id"], row["calendar"])
        await connection.execute(SQL["due_of_gone"], *key, row["became"], now)
        await connection.execute(SQL["forget_pending"], *key)
        await connection.execute(SQL["finish"], *key, row["became"], now)
    found = [
        (declared, row["sha256"])
        for row in await connection.fetch(SQL["changed"], tenant)
        if (declared := _of_object(CatalogObject.model_validate(row["object"]), row["zone"])) is not None
    ]
    if found:
        rows = await connection.fetch(SQL["known"], tenant, [UUID(one.id) for one, _ in found])
        before = {str(row["calendar"]): row for row in rows}
        for declared, sha256 in found:
            await _put(connection, declared, sha256, now)
            if declared.id in before:
                await _again(connection, before[declared.id], declared, now)
    await connection.execute(SQL["look_at_dates"], tenant, now)


def _of_object(item: CatalogObject, zone: str | None) -> Followed | None:
    try:
        return of_object(item, zone)
    except ValueError as fault:
        # A source of a newer control plane must not stop the calendars that are understood.
        _log.error("calendar_not_usable", tenant=item.tenant, subscription=item.name, error=str(fault))
        return None


def of_object(declared: CatalogObject, zone: str | None) -> Followed | None:
    """The calendar that a declared subscription follows, with its tenant's zone; None when it follows none now."""
    if declared.kind != "Subscription" or declared.state not in LIVE:
        return None
    spec = SubscriptionSpec.model_validate(declared.spec)
    if spec.source.calendar is None:
        return None
    return Followed(
        tenant=declared.tenant,
        id=str(UUID(declared.id)),
        subscription=declared.name,
        version=declared.version,
        source=spec.source.calendar,
        misfire=spec.misfire,
        paused=declared.state == State.PAUSED,
        expires=spec.limits.expires,
        zone=spec.source.calendar.zone or zone,
        counted_from=declared.updated_at,
    )


async def _put(connection: AnyConnection, one: Followed, sha256: str, now: datetime) -> None:
    await connection.execute(
        SQL["put"],
        one.tenant,
        UUID(one.id),
        one.subscription,
        one.version,
        written_source(one.source),
        sha256,
        one.misfire,
        one.paused,
        one.expires,
        one.zone,
        one.counted_from,
        now,
    )


async def _again(connection: AnyConnection, row: asyncpg.Record, declared: Followed, now: datetime) -> None:
    """A calendar that was followed before, as it is declared now."""
    before, key = followed_of(row), (declared.tenant, UUID(declared.id))
    moved = _place(before.source) != _place(declared.source)
    since = declared.counted_from if moved else before.counted_from
    if moved:
        await connection.execute(SQL["forget"], *key)
    if row["ended"] is not None:
        given_back = declared.counted_from <= row["ended_at"] and not moved
        looked_at = row["looked_at"] if given_back else None
        hole = (now, row["ended"]) if given_back else (None, None)
        since = before.counted_from if given_back else declared.counted_from
        await connection.execute(SQL["begin_again"], *key, now, since, looked_at, *hole)
    elif _reading(before) != _reading(declared):
        await connection.execute(SQL["edit"], *key, now, since)


def _place(source: CalendarSource) -> list[object]:
    return [getattr(source, name) for name in _PLACE]


def _reading(one: Followed) -> tuple[object, ...]:
    """What decides which wake-ups a calendar calls for."""
    return one.source, one.zone, one.expires


def written_source(source: CalendarSource) -> dict[str, object]:
    """A source as a followed calendar keeps it."""
    return source.model_dump(mode="json", exclude_none=True)
