"""Derives all schedules anew from the catalog and the history of due instants, and tells where they were different."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from sereno.execution_plane.listeners.calendar.rebuild import rebuild as rebuild_calendars
from sereno.execution_plane.listeners.derivation import Derived, declared, follow, put, with_history
from sereno.execution_plane.listeners.schedules import SQL, hash_of, manifests, written_rule
from sereno.mailbox.connection import AnyConnection, AnyPool


@dataclass(frozen=True, slots=True)
class Difference:
    """A schedule that was not as it is derived: the columns that differ, or that it was missing or should not be."""

    tenant: str
    subscription: str
    columns: tuple[str, ...]


async def rebuild(pool: AnyPool) -> list[Difference]:
    """Make all schedules, and what is to come of calendars, as they are derived; the answer is what was different before, nothing when all was well."""
    found: list[Difference] = []
    for tenant in sorted(await manifests(pool)):
        async with pool.acquire() as connection, connection.transaction():
            found += await _rebuild(connection, tenant)
            async for subscription, different in rebuild_calendars(connection, tenant):
                found.append(Difference(tenant, subscription, different))
    return found


async def _rebuild(connection: AnyConnection, tenant: str) -> list[Difference]:
    # What was declared just now and no listener has seen is no difference.
    await follow(connection, tenant, await connection.fetchval(SQL["clock"]))
    rows = {str(row["schedule"]): row for row in await connection.fetch(SQL["of_tenant"], tenant)}
    known = {key: row["counted_from"] for key, row in rows.items()}
    derived = await with_history(connection, tenant, await declared(connection, tenant), known)
    differing = [one for one in derived if _columns(rows.get(one.schedule.id), one)]
    wanted = {one.schedule.id for one in derived}
    foreign = [row for key, row in rows.items() if key not in wanted]
    await connection.execute(
        SQL["remove"], [row["tenant_id"] for row in foreign], [row["schedule"] for row in foreign]
    )
    await put(connection, differing)
    return list(_differences(tenant, rows, differing, foreign))


def _differences(
    tenant: str,
    rows: Mapping[str, asyncpg.Record],
    differing: Sequence[Derived],
    foreign: Sequence[asyncpg.Record],
) -> Iterator[Difference]:
    for one in differing:
        columns = _columns(rows.get(one.schedule.id), one)
        yield Difference(tenant, one.schedule.subscription, columns)
    for row in foreign:
        yield Difference(tenant, row["subscription"], ("unexpected",))


def _columns(row: asyncpg.Record | None, derived: Derived) -> tuple[str, ...]:
    if row is None:
        return ("missing",)
    return tuple(name for name, value in _as_row(derived).items() if row[name] != value)


def _as_row(derived: Derived) -> dict[str, Any]:
    one = derived.schedule
    rule = written_rule(one.source)
    return {
        "schedule": UUID(one.id),
        "subscription": one.subscription,
        "subscription_version": one.version,
        "spec": rule,
        "rule": hash_of(rule),
        "object_sha256": derived.sha256,
        "misfire": one.misfire,
        "paused": one.paused,
        "expires": one.expires,
        "next_due": one.next_due,
        "last_instant": one.last_instant,
        "counted_from": one.counted_from,
    }
