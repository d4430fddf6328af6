"""Schedules in the database: claimed when due, advanced together with what they emit and leave out."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
import orjson

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.listeners.schedule import Advance, Schedule, Skipped
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.subscriptions.models.source import TimeSource

SQL = queries.load("sereno.execution_plane.listeners", "schedules.sql")

Stamp = tuple[int, int]
MAX_RULES = 20_000
_RULE_BYTES = 16


async def manifests(pool: AnyPool) -> dict[str, Stamp]:
    """Which manifest of each tenant is in force; a renewal is the same one."""
    rows = await pool.fetch(SQL["manifests"])
    return {row["tenant_id"]: (row["epoch"], row["version"]) for row in rows}


class Rules:
    """The rules of schedules, each read once while it is used: those last used stay."""

    def __init__(self, most: int = MAX_RULES) -> None:
        self._most = most
        self._known: dict[bytes, TimeSource] = {}

    async def of(
        self, connection: AnyConnection, rows: Sequence[asyncpg.Record]
    ) -> Mapping[bytes, TimeSource]:
        """The rule of each claimed row by its hash; one query for all that are not known."""
        found = {row["rule"]: self._known.pop(row["rule"], None) for row in rows}
        missing = {row["rule"]: row for row in rows if found[row["rule"]] is None}
        if missing:
            fetched = await connection.fetch(SQL["rules"], *_keys(missing.values()))
            found |= {row["rule"]: TimeSource.model_validate(row["spec"]) for row in fetched}
        rules = {key: rule for key, rule in found.items() if rule is not None}
        self._known |= rules
        for key in list(self._known)[: max(0, len(self._known) - self._most)]:
            del self._known[key]
        return rules


def _keys(rows: Iterable[asyncpg.Record]) -> tuple[list[str], list[UUID]]:
    listed = list(rows)
    return [row["tenant_id"] for row in listed], [row["schedule"] for row in listed]


async def release(pool: AnyPool) -> None:
    """Let go on what a stop held that is over."""
    await pool.execute(SQL["release"])


async def claim_due(connection: AnyConnection, rules: Rules, now: datetime, limit: int) -> list[Schedule]:
    """Schedules that are due and that no other listener is at, locked until the transaction ends.

    Those under a stop are held instead: they wait for its end.
    """
    rows = await connection.fetch(SQL["claim_due"], now, limit)
    if not rows:
        return []
    scopes = await stop.scopes(connection, {row["tenant_id"] for row in rows})
    standing = [row for row in rows if any(_covers(scope, row) for scope in scopes)]
    if standing:
        await connection.execute(SQL["hold"], *_keys(standing))
        held = {(row["tenant_id"], row["schedule"]) for row in standing}
        rows = [row for row in rows if (row["tenant_id"], row["schedule"]) not in held]
    known = await rules.of(connection, rows)
    return [schedule_of(row, known[row["rule"]]) for row in rows]


def _covers(scope: stop.Scope, row: asyncpg.Record) -> bool:
    """Whether a schedule stands still; what is due for a stopped agent is held by the guards on its way there."""
    return scope.agent is None and scope.covers(row["tenant_id"], "", row["subscription"], "time")


async def advance(connection: AnyConnection, steps: Sequence[Advance]) -> None:
    """Write how far each schedule has come, and the runs of instants that it left out."""
    after = [step.schedule for step in steps]
    await connection.execute(
        SQL["advance"],
        [one.tenant for one in after],
        [UUID(one.id) for one in after],
        [one.next_due for one in after],
        [one.last_instant for one in after],
    )
    await skip(connection, [(step.schedule, step.skipped) for step in steps if step.skipped is not None])


async def skip(connection: AnyConnection, left_out: Sequence[tuple[Schedule, Skipped]]) -> None:
    """Write down runs of instants that will never be emitted, one record each."""
    if left_out:
        await connection.execute(
            SQL["skip"],
            [one.tenant for one, _ in left_out],
            [UUID(one.id) for one, _ in left_out],
            [skipped.last for _, skipped in left_out],
            [one.subscription for one, _ in left_out],
            [one.version for one, _ in left_out],
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
        SQL["emit"],
        [schedule.tenant for schedule, _, _ in signals],
        [UUID(schedule.id) for schedule, _, _ in signals],
        [instant for _, instant, _ in signals],
        [schedule.subscription for schedule, _, _ in signals],
        [schedule.version for schedule, _, _ in signals],
        [UUID(envelope.receiptid) for _, _, envelope in signals],
        now,
    )
    if len(rows) == len(signals):
        return [envelope for _, _, envelope in signals]
    fresh = {str(row["receiptid"]) for row in rows}
    return [envelope for _, _, envelope in signals if envelope.receiptid in fresh]


def by_tenant(envelopes: Iterable[Envelope]) -> dict[str, list[Envelope]]:
    """The envelopes of each tenant, in order."""
    grouped: dict[str, list[Envelope]] = {}
    for envelope in envelopes:
        grouped.setdefault(envelope.tenantid, []).append(envelope)
    return grouped


def written_rule(source: TimeSource) -> dict[str, object]:
    """A rule as a schedule keeps it."""
    return source.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def hash_of(rule: Mapping[str, object]) -> bytes:
    """By what a rule is known."""
    return hashlib.sha256(orjson.dumps(rule, option=orjson.OPT_SORT_KEYS)).digest()[:_RULE_BYTES]


def schedule_of(row: asyncpg.Record, source: TimeSource) -> Schedule:
    """The schedule that a row keeps."""
    return Schedule(
        tenant=row["tenant_id"],
        id=str(row["schedule"]),
        subscription=row["subscription"],
        version=row["subscription_version"],
        source=source,
        misfire=row["misfire"],
        paused=row["paused"],
        expires=row["expires"],
        next_due=row["next_due"],
        last_instant=row["last_instant"],
        counted_from=row["counted_from"],
    )
