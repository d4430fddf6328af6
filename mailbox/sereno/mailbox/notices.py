"""Notices: what a person should know, one row per cause with a count."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asyncpg import Record

from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import outbox, queries
from sereno.mailbox.engine.bus import report_subject
from sereno.subscriptions.report import NoticeReport, dumps

PLANE = "execution"

_SQL = queries.load("sereno.mailbox", "notices.sql")


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell: the same `cause` in a tenant is told once and counted.

    `cause` is a path such as `dead/refund-watch/exhausted`, `kind` its first word, `text` a sentence.
    """

    tenant: str
    cause: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1

    @property
    def kind(self) -> str:
        return self.cause.partition("/")[0]


async def record(conn: AnyConnection, notices: Iterable[Notice]) -> None:
    """Write notices in the caller's transaction; what is known already is counted up, and all of it is reported.

    The control plane sends them on to people: it knows who may answer what.
    """
    merged = _merge(notices)
    if merged:
        rows = [(n.tenant, n.cause, n.kind, n.text, dict(n.data), n.count) for n in merged]
        written = await conn.fetch(_SQL["record_notices"], *map(list, zip(*rows, strict=True)))
        await outbox.append(conn, PLANE, [_report(row) for row in written])


def _report(row: Record) -> outbox.Outgoing:
    told = NoticeReport(
        tenant=row["tenant_id"],
        cause=row["cause"],
        kind=row["kind"],
        text=row["text"],
        data=row["data"],
        count=row["count"],
        at=row["last_at"],
    )
    return outbox.Outgoing(report_subject(PLANE, told.tenant), told.tenant, dumps(told))


def _merge(notices: Iterable[Notice]) -> Sequence[Notice]:
    merged: dict[tuple[str, str], Notice] = {}
    for notice in notices:
        key = (notice.tenant, notice.cause)
        seen = merged[key].count if key in merged else 0
        merged[key] = Notice(notice.tenant, notice.cause, notice.text, notice.data, notice.count + seen)
    return list(merged.values())


async def listed(conn: AnyConnection, tenant: str | None, *, limit: int = 100) -> list[dict[str, Any]]:
    """The notices of a tenant (None: of all), latest first, as JSON objects."""
    rows = await conn.fetch(_SQL["list_notices"], tenant, limit)
    return [{"tenant" if key == "tenant_id" else key: value for key, value in row.items()} for row in rows]
