"""Followed calendars in the database: looked at under a lease, changed together with what is to come of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from sereno.execution_plane.listeners.calendar.followed import Due, Followed
from sereno.execution_plane.listeners.calendar.occurrence import Occurrence
from sereno.execution_plane.listeners.calendar.plan import Addition, Bounds, Known, Plan, Removal
from sereno.execution_plane.listeners.calendar.sources.look import Look
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.subscriptions.models.source import CalendarSource

SQL = queries.load("sereno.execution_plane.listeners.calendar", "calendars.sql")

LEASE = timedelta(minutes=3)
"""How long one turn at a source may take, the longest request included."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn at the source of a calendar, and what the last one left."""

    followed: Followed
    look: int
    cursor: Mapping[str, Any]
    counted_from: datetime
    looked_at: datetime | None
    known_until: datetime | None
    bounds: Bounds
    edited: bool
    failures: int


@dataclass(frozen=True, slots=True)
class Last:
    """What is known of a calendar before a look: its texts, the date of an object, and what was to come."""

    texts: Mapping[str, str]
    date: datetime | None
    pending: Sequence[Occurrence]

    def after(self, look: Look | None) -> "Last":
        """The same with the texts that a look found."""
        if look is None:
            return self
        kept = {} if look.is_whole else {k: v for k, v in self.texts.items() if k not in look.gone}
        return replace(self, texts=kept | {each.href: each.content for each in look.resources})


async def claim_looks(pool: AnyPool, now: datetime, limit: int) -> list[Turn]:
    """Calendars that are to be looked at and that nobody else looks at, for the time of a lease."""
    return [turn_of(row) for row in await pool.fetch(SQL["claim_look"], now, limit, LEASE)]


async def hold_look(connection: AnyConnection, turn: Turn) -> Turn | None:
    """The calendar, locked, unless another turn or an edit has overtaken this one."""
    one = turn.followed
    row = await connection.fetchrow(SQL["hold_look"], one.tenant, UUID(one.id), turn.look)
    return None if row is None else turn_of(row)


async def etags(pool: AnyPool, followed: Followed) -> dict[str, str | None]:
    """What was read last, by where it lies."""
    rows = await pool.fetch(SQL["etags"], followed.tenant, UUID(followed.id))
    return {row["href"]: row["etag"] for row in rows}


async def contents(connection: AnyConnection, followed: Followed) -> dict[str, str]:
    """The texts that were read last, by where they lie."""
    rows = await connection.fetch(SQL["contents"], followed.tenant, UUID(followed.id))
    return {row["href"]: row["content"] for row in rows}


async def date_of_object(connection: AnyConnection, tenant: str, name: str) -> datetime | None:
    """When a subscription expires, if it is there and does."""
    text = await connection.fetchval(SQL["date_of_object"], tenant, name)
    return None if text is None else datetime.fromisoformat(text)


async def last(connection: AnyConnection, followed: Followed, until: datetime) -> Last:
    """What is known of a calendar, and what is to come of it until a moment."""
    if followed.source.object is not None:
        date = await date_of_object(connection, followed.tenant, followed.source.object.name)
        return Last({}, date, await pending(connection, followed, until))
    return Last(await contents(connection, followed), None, await pending(connection, followed, until))


async def keep(connection: AnyConnection, followed: Followed, look: Look) -> None:
    """Keep what was read."""
    key = (followed.tenant, UUID(followed.id))
    if look.is_whole:
        await connection.execute(SQL["drop_other_resources"], *key, [r.href for r in look.resources])
    if look.gone:
        await connection.execute(SQL["drop_resources"], *key, list(look.gone))
    if look.resources:
        await connection.execute(
            SQL["put_resources"],
            *key,
            [each.href for each in look.resources],
            [each.etag for each in look.resources],
            [each.content for each in look.resources],
        )


async def pending(connection: AnyConnection, followed: Followed, until: datetime) -> list[Occurrence]:
    """What is to come until a moment, earliest first."""
    rows = await connection.fetch(SQL["pending"], followed.tenant, UUID(followed.id), until)
    return [_occurrence(row) for row in rows]


async def due(connection: AnyConnection, followed: Followed, now: datetime) -> list[Due]:
    """What is due now, earliest first."""
    rows = await connection.fetch(SQL["pending"], followed.tenant, UUID(followed.id), now)
    return [Due(followed, _occurrence(row), row["previous_start"], row["previous_anchor"]) for row in rows]


async def written(
    connection: AnyConnection, followed: Followed, wanted: Sequence[Occurrence], until: datetime
) -> dict[str, Known]:
    """What is written down of the wanted and of what is to come until a moment, by key."""
    key = (followed.tenant, UUID(followed.id))
    rows = await connection.fetch(SQL["written"], *key, [each.key for each in wanted])
    rows += await connection.fetch(SQL["pending"], *key, until)
    return {row["occurrence"]: Known(_occurrence(row), row["state"]) for row in rows}


async def latest(
    connection: AnyConnection, followed: Followed, entries: Iterable[bytes]
) -> dict[bytes, Occurrence]:
    """Where each entry was when it was last written down."""
    rows = await connection.fetch(SQL["latest"], followed.tenant, UUID(followed.id), list(set(entries)))
    return {row["entry"]: _occurrence(row) for row in rows}


async def write(connection: AnyConnection, followed: Followed, plan: Plan) -> None:
    """Write what is to come and what will not be."""
    await remove(connection, followed, plan.removals, "removed")
    if plan.additions:
        await connection.execute(
            SQL["add"],
            followed.tenant,
            UUID(followed.id),
            followed.subscription,
            followed.version,
            *_columns(plan.additions),
        )


def _columns(additions: Sequence[Addition]) -> tuple[list[Any], ...]:
    each = [one.occurrence for one in additions]
    before = [one.previous for one in additions]
    return (
        [one.key for one in each],
        [one.entry for one in each],
        [one.uid for one in each],
        [one.recurrence for one in each],
        [one.start for one in each],
        [one.anchor for one in each],
        [one.fire for one in each],
        [one.offset for one in each],
        [None if was is None else was.start for was in before],
        [None if was is None else was.anchor for was in before],
        [dict(one.facts) for one in each],
        [one.left_out for one in additions],
    )


async def refresh(connection: AnyConnection, followed: Followed, wanted: Sequence[Occurrence]) -> None:
    """Let what is to come say what its entries say by now."""
    await connection.execute(
        SQL["refresh"],
        followed.tenant,
        UUID(followed.id),
        followed.version,
        [each.key for each in wanted],
        [dict(each.facts) for each in wanted],
        [each.start for each in wanted],
    )


async def remove(
    connection: AnyConnection, followed: Followed, removals: Sequence[Removal], state: str
) -> None:
    """End what is to come, each with its reason, as `removed` or `skipped`."""
    if removals:
        await connection.execute(
            SQL["remove"],
            followed.tenant,
            UUID(followed.id),
            [each.occurrence.key for each in removals],
            [state] * len(removals),
            [each.reason for each in removals],
        )


async def emit(
    connection: AnyConnection,
    followed: Followed,
    signals: Sequence[tuple[Occurrence, str]],
    now: datetime,
) -> None:
    """Write down which receipt each occurrence became."""
    if signals:
        await connection.execute(
            SQL["emit"],
            followed.tenant,
            UUID(followed.id),
            [one.key for one, _ in signals],
            [UUID(receiptid) for _, receiptid in signals],
            now,
        )


async def point(connection: AnyConnection, followed: Followed) -> None:
    """Let the calendar name what comes next."""
    await connection.execute(SQL["point"], followed.tenant, UUID(followed.id))


async def claim_due(connection: AnyConnection, now: datetime, limit: int) -> list[Followed]:
    """Calendars of which something is due and that no other listener is at, locked until the transaction ends."""
    return [followed_of(row) for row in await connection.fetch(SQL["claim_due"], now, limit)]


def followed_of(row: asyncpg.Record) -> Followed:
    """The calendar that a row keeps."""
    return Followed(
        tenant=row["tenant_id"],
        id=str(row["calendar"]),
        subscription=row["subscription"],
        version=row["subscription_version"],
        source=CalendarSource.model_validate(row["spec"]),
        misfire=row["misfire"],
        paused=row["paused"],
        expires=row["expires"],
        zone=row["zone"],
        counted_from=row["counted_from"],
    )


def turn_of(row: asyncpg.Record) -> Turn:
    """The state of a calendar that a row keeps, as a turn at its source finds it."""
    looked_at = row["looked_at"] or row["counted_from"]
    hole = (row["hole_until"], row["hole_reason"]) if row["hole_until"] is not None else ()
    return Turn(
        followed=followed_of(row),
        look=row["look"],
        cursor=row["cursor"],
        counted_from=row["counted_from"],
        looked_at=row["looked_at"],
        known_until=row["known_until"],
        bounds=Bounds(looked_at, *hole),
        edited=row["edited"],
        failures=row["failures"],
    )


def _occurrence(row: asyncpg.Record) -> Occurrence:
    return Occurrence(
        uid=row["uid"],
        recurrence=row["recurrence"],
        start=row["start"],
        anchor=row["anchor"],
        fire=row["fire"],
        offset=row["before"],
        facts=row["facts"],
    )
