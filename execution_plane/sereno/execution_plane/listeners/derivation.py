"""Derives schedules from the catalog: those of changed subscriptions alone, or all of them anew."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import asyncpg
import orjson

from sereno.execution_plane.listeners.schedule import (
    LIVE,
    Schedule,
    Skipped,
    begun,
    left_behind,
    left_out,
    of_object,
    reconcile,
)
from sereno.execution_plane.listeners.schedules import SQL, hash_of, schedule_of, skip, written_rule
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.models.source import TimeSource
from sereno.subscriptions.snapshot import CatalogObject

_log = logger("time")


@dataclass(frozen=True, slots=True)
class Derived:
    """A schedule and the hash of the object from which it was derived."""

    schedule: Schedule
    sha256: str


async def derive(connection: AnyConnection, tenant: str, now: datetime) -> None:
    """Bring the tenant's schedules in line with what is declared now, in the caller's transaction.

    What was due by a rule that is not there any more, and not written down, is written down as left out.
    """
    new = await follow(connection, tenant, now)
    await put(connection, await with_history(connection, tenant, new))


async def follow(connection: AnyConnection, tenant: str, now: datetime) -> list[Derived]:
    """Let the schedules that there are follow their declarations; those that are declared and missing."""
    await connection.execute(SQL["lock_catalog"], tenant)
    await _finish_gone(connection, tenant, now)
    found = await _declared(connection, "changed", tenant)
    if not found:
        return []
    rows = await connection.fetch(SQL["known"], tenant, [UUID(one.schedule.id) for one in found])
    before = {str(row["schedule"]): _Before.of(row) for row in rows}
    again = [_again(before[one.schedule.id], one, now) for one in found if one.schedule.id in before]
    await skip(connection, [told for _, runs in again for told in runs])
    await put(connection, [one for one, _ in again])
    return [one for one in found if one.schedule.id not in before]


async def _finish_gone(connection: AnyConnection, tenant: str, now: datetime) -> None:
    """Nothing is pending any more of what is not declared; what was due until now is written down."""
    rows = await connection.fetch(SQL["gone"], tenant)
    if not rows:
        return
    gone = [(schedule_of(row, TimeSource.model_validate(row["spec"])), row["became"]) for row in rows]
    runs = [(one, left_out(one, now, became)) for one, became in gone]
    await skip(connection, _told(runs))
    await connection.execute(
        SQL["finish"],
        *_keys([one for one, _ in gone]),
        [became for _, became in gone],
        [None if run is None else run.last for _, run in runs],
        now,
    )


@dataclass(frozen=True, slots=True)
class _Before:
    """A schedule as it was, and how and when it ended, if it did."""

    schedule: Schedule
    ended: str | None
    ended_at: datetime | None

    @classmethod
    def of(cls, row: asyncpg.Record) -> "_Before":
        source = TimeSource.model_validate(row["spec"])
        return cls(schedule_of(row, source), row["ended"], row["ended_at"])


def _again(before: _Before, new: Derived, now: datetime) -> tuple[Derived, list[tuple[Schedule, Skipped]]]:
    """A schedule that was there before, as it is declared now, and what was left out on the way."""
    old, declared = before.schedule, new.schedule
    if before.ended is None or before.ended_at is None:
        runs = [(old, left_behind(old, declared))]
        return replace(new, schedule=reconcile(old, declared)), _told(runs)
    if declared.counted_from > before.ended_at or old.source != declared.source:
        return replace(new, schedule=begun(declared, declared.counted_from, old.last_instant)), []
    # A right that was taken and is given back: what was due meanwhile has that reason.
    back = begun(declared, old.counted_from, old.last_instant)
    run = left_out(back, now, before.ended)
    if run is None:
        return replace(new, schedule=back), []
    return replace(new, schedule=begun(back, old.counted_from, run.last)), [(back, run)]


def _told(runs: Iterable[tuple[Schedule, Skipped | None]]) -> list[tuple[Schedule, Skipped]]:
    return [(schedule, skipped) for schedule, skipped in runs if skipped is not None]


async def declared(connection: AnyConnection, tenant: str) -> list[Derived]:
    """The schedules of everything that is declared now, as if nothing had ever been due."""
    return await _declared(connection, "declared", tenant)


async def _declared(connection: AnyConnection, statement: str, tenant: str) -> list[Derived]:
    rows = await connection.fetch(SQL[statement], tenant)
    read = [(_of_object(CatalogObject.model_validate(row["object"])), row["sha256"]) for row in rows]
    return [Derived(schedule, sha256) for schedule, sha256 in read if schedule is not None]


def _of_object(item: CatalogObject) -> Schedule | None:
    try:
        return of_object(item)
    except ValueError as fault:
        # A rule of a newer control plane must not stop the schedules that are understood.
        _log.error("schedule_not_usable", tenant=item.tenant, subscription=item.name, error=str(fault))
        return None


async def with_history(
    connection: AnyConnection,
    tenant: str,
    found: Sequence[Derived],
    counted_from: Mapping[str, datetime] | None = None,
) -> list[Derived]:
    """The same schedules where their history left them: behind the last instant that was written down.

    Since when each is counted is read from the catalog's history where `counted_from` does not say it.
    """
    if not found:
        return []
    ids = [UUID(one.schedule.id) for one in found]
    keys = [f"subscription/{one.schedule.subscription}" for one in found]
    last = {
        str(row["schedule"]): row["instant"]
        for row in await connection.fetch(SQL["last_instants"], tenant, ids)
    }
    versions: dict[str, list[Mapping[str, object]]] = {}
    for row in await connection.fetch(SQL["versions"], tenant, keys):
        versions.setdefault(row["key"], []).append(orjson.loads(row["canonical"]))
    return [
        Derived(
            begun(
                one.schedule,
                (counted_from or {}).get(one.schedule.id)
                or _counted_from(one.schedule, versions.get(f"subscription/{one.schedule.subscription}", [])),
                last.get(one.schedule.id),
            ),
            one.sha256,
        )
        for one in found
    ]


def _counted_from(schedule: Schedule, versions: Iterable[Mapping[str, object]]) -> datetime:
    """Since when the present rule has been in force without a break."""
    since = schedule.counted_from
    for read in versions:
        item = CatalogObject.model_validate(read)
        time = item.spec.get("source", {}).get("time")
        if UUID(item.id) != UUID(schedule.id) or item.state not in LIVE or time is None:
            break
        if TimeSource.model_validate(time) != schedule.source:
            break
        since = min(since, item.updated_at)
    return since


async def put(connection: AnyConnection, derived: Sequence[Derived]) -> None:
    """Write these schedules."""
    if not derived:
        return
    schedules = [one.schedule for one in derived]
    rules = [written_rule(one.source) for one in schedules]
    await connection.execute(
        SQL["put"],
        *_keys(schedules),
        [one.subscription for one in schedules],
        [one.version for one in schedules],
        rules,
        [hash_of(rule) for rule in rules],
        [one.sha256 for one in derived],
        [one.misfire for one in schedules],
        [one.paused for one in schedules],
        [one.expires for one in schedules],
        [one.next_due for one in schedules],
        [one.last_instant for one in schedules],
        [one.counted_from for one in schedules],
    )


def _keys(schedules: Sequence[Schedule]) -> tuple[list[str], list[UUID]]:
    return [one.tenant for one in schedules], [UUID(one.id) for one in schedules]
