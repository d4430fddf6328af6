"""The history of due instants as it is stored, read in one snapshot and held against the rules."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import asyncpg

from sereno.execution_plane.listeners.accounting import UNDECIDED, Account, Finding, Recorded, findings
from sereno.execution_plane.listeners.schedule import TOLERANCE
from sereno.execution_plane.listeners.schedules import schedule_of
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.subscriptions.models.source import TimeSource

_SQL = queries.load("sereno.execution_plane.listeners", "ledger.sql")
_PAGE = 500
_FETCH = 5_000

_Key = tuple[str, UUID]


@dataclass(slots=True)
class _Story:
    """One schedule and its records."""

    key: _Key
    subscription: str
    records: list[Recorded] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Found:
    """A finding and of which subscription."""

    tenant: str
    subscription: str
    finding: Finding


@dataclass(slots=True)
class Report:
    """How many schedules, calendars and instants were looked at, how they ended, and what does not add up."""

    schedules: int = 0
    calendars: int = 0
    instants: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)


async def check(pool: AnyPool, tenant: str | None = None) -> Report:
    """Every due instant of a tenant, or of all, against the rules by which it was due; nothing is changed."""
    report = Report()
    async with (
        pool.acquire() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        now: datetime = await connection.fetchval(_SQL["clock"])
        async for page in _pages(connection, tenant):
            for story, account in await _accounts(connection, page):
                _add(report, story, account, now)
        await _add_calendars(report, connection, tenant, now)
    return report


async def _add_calendars(
    report: Report, connection: AnyConnection, tenant: str | None, now: datetime
) -> None:
    report.calendars = await connection.fetchval(_SQL["calendars"], tenant)
    for row in await connection.fetch(_SQL["calendar_ends"], tenant, now, TOLERANCE):
        report.instants += row["count"]
        report.ends[row["ended"]] += row["count"]
    for row in await connection.fetch(_SQL["calendar_findings"], tenant, now, UNDECIDED):
        finding = Finding(row["kind"], row["instant"], row["message"])
        report.found.append(Found(row["tenant_id"], row["subscription"], finding))


def _add(report: Report, story: _Story, account: Account, now: datetime) -> None:
    report.schedules += 1
    for record in story.records:
        report.instants += record.count
        report.ends[record.end] += record.count
    found = (Found(story.key[0], story.subscription, one) for one in findings(account, now))
    report.found.extend(found)


async def _pages(connection: AnyConnection, tenant: str | None) -> AsyncIterator[list[_Story]]:
    page: list[_Story] = []
    async for story in _stories(connection, tenant):
        page.append(story)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


async def _stories(connection: AnyConnection, tenant: str | None) -> AsyncIterator[_Story]:
    story: _Story | None = None
    async for row in connection.cursor(_SQL["history"], tenant, prefetch=_FETCH):
        key = (row["tenant_id"], row["schedule"])
        if story is None or story.key != key:
            if story is not None:
                yield story
            story = _Story(key, row["subscription"])
        story.records.append(_record(row))
    if story is not None:
        yield story
    async for row in connection.cursor(_SQL["without_history"], tenant, prefetch=_FETCH):
        yield _Story((row["tenant_id"], row["schedule"]), row["subscription"])


def _record(row: asyncpg.Record) -> Recorded:
    return Recorded(
        instant=row["instant"],
        first=row["first"],
        count=row["count"],
        version=row["subscription_version"],
        emitted=row["emitted"],
        outcome=row["outcome"],
        reason=row["reason"],
    )


async def _accounts(connection: AnyConnection, page: Sequence[_Story]) -> list[tuple[_Story, Account]]:
    tenants = [story.key[0] for story in page]
    rows = await connection.fetch(_SQL["schedules"], tenants, [story.key[1] for story in page])
    standing = {(row["tenant_id"], row["schedule"]): row for row in rows}
    names = [f"subscription/{story.subscription}" for story in page]
    rules: dict[tuple[str, str], dict[int, TimeSource]] = {}
    for row in await connection.fetch(_SQL["rules"], tenants, names):
        if row["time"] is not None:
            by_version = rules.setdefault((row["tenant_id"], row["key"]), {})
            by_version[row["version"]] = TimeSource.model_validate(row["time"])
    return [
        (story, _account(story, standing.get(story.key), rules.get((story.key[0], name), {})))
        for story, name in zip(page, names, strict=True)
    ]


def _account(story: _Story, row: asyncpg.Record | None, rules: dict[int, TimeSource]) -> Account:
    if row is None or row["ended"] is not None:
        return Account(story.records, rules, None)
    schedule = schedule_of(row, TimeSource.model_validate(row["spec"]))
    return Account(story.records, rules, schedule, held=row["held"])
