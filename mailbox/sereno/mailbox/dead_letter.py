"""The dead: what people are told when a message dies, and how it is brought back or ended by them."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sereno.envelope.identifiers import RANDOM_BYTES, to_people, uuid7
from sereno.mailbox import lines
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.notices import Notice
from sereno.mailbox.wake import Box

PAGE = 500

_SQL = queries.load("sereno.mailbox", "dead_letter.sql")
_SENTENCES = {
    "exhausted": "used up its attempts",
    "rejected": "was rejected by its worker",
    "deadline": "was not finished before it was given up",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages of a tenant; None is any. `reason` is why they are dead (or, of open ones, their state)."""

    agent: str | None = None
    subscription: str | None = None
    reason: str | None = None
    older_than_seconds: float | None = None
    ids: Sequence[UUID] | None = None

    @property
    def columns(self) -> tuple[Any, ...]:
        """As the statements take it."""
        ids = None if self.ids is None else list(self.ids)
        return self.agent, self.subscription, self.reason, self.older_than_seconds, ids


async def redrive(
    pool: AnyPool, tenant: str, which: Filter, *, reason: str, principal: str, preview: bool
) -> tuple[set[Box], int]:
    """Bring the dead back page by page, each a transaction: the mailboxes to wake, and how many."""
    _expect_reason(reason)
    if preview:
        return set(), await pool.fetchval(_SQL["count_dead"], tenant, *which.columns)
    boxes: set[Box] = set()
    total = 0
    while True:
        async with pool.acquire() as conn, conn.transaction():
            await conn.execute(_SQL["still"])
            await conn.execute(_SQL["join_lines"], tenant, *which.columns)
            runs = [_run_id() for _ in range(PAGE)]
            rows = await conn.fetch(_SQL["redrive"], tenant, *which.columns, reason, principal, PAGE, runs)
        boxes |= {(row["tenant_id"], row["agent"]) for row in rows}
        total += len(rows)
        if len(rows) < PAGE:
            return boxes, total


def _run_id() -> UUID:
    """Of a run that begins now: explain looks for it in the log around the moment that it holds."""
    return uuid7(int(time.time() * 1000), os.urandom(RANDOM_BYTES))


async def end(
    pool: AnyPool, tenant: str, which: Filter, *, reason: str, principal: str, preview: bool
) -> int:
    """End open messages, page by page: how many. A live holder is told at the next renewal, and then it is dead."""
    _expect_reason(reason)
    if preview:
        count: int = await pool.fetchval(_SQL["count_open"], tenant, *which.columns)
        return count
    total = 0
    while True:
        async with pool.acquire() as conn, conn.transaction():
            rows = await conn.fetch(_SQL["end_open"], tenant, *which.columns, reason, principal, PAGE)
            await lines.promote(conn, rows)
        total += len(rows)
        if len(rows) < PAGE:
            return total


async def end_in(
    conn: AnyConnection, tenant: str, ids: Sequence[UUID], *, reason: str, principal: str
) -> None:
    """End these messages, which nobody holds, in the caller's transaction, which has locked them."""
    which = Filter(reason="ready", ids=ids)
    rows = await conn.fetch(_SQL["end_open"], tenant, *which.columns, reason, principal, len(ids))
    await lines.promote(conn, rows)


def _expect_reason(reason: str) -> None:
    if not reason.strip():
        raise ValueError("reason: expected why, got nothing")


def notices(rows: Iterable[Mapping[str, Any]]) -> list[Notice]:
    """One notice for each row that died of itself; what a person withdrew tells nobody anything new.

    A row has `tenant_id`, `id`, `agent`, `subscription` and `dead_of` (None: it did not die).
    """
    return [_notice(row) for row in rows if row["dead_of"] in _SENTENCES]


def _notice(row: Mapping[str, Any]) -> Notice:
    message, reason = to_people("msg", row["id"]), row["dead_of"]
    return Notice(
        row["tenant_id"],
        f"dead/{row['subscription']}/{reason}",
        f"Message {message} of subscription {row['subscription']} for {row['agent']} {_SENTENCES[reason]}.",
        {"message": message, "agent": row["agent"], "subscription": row["subscription"], "reason": reason},
    )


def waiting(rows: Iterable[Mapping[str, Any]]) -> list[Notice]:
    """One notice for each parked row that waits for a person."""
    return [_waiting(row) for row in rows if row["waiting_for"] != "dependency"]


def _waiting(row: Mapping[str, Any]) -> Notice:
    message = to_people("msg", row["id"])
    asked = f": {row['question']}" if row["question"] else ""
    return Notice(
        row["tenant_id"],
        f"waiting/{message}",
        f"Message {message} of subscription {row['subscription']} for {row['agent']} waits for"
        f" an {'answer' if asked else row['waiting_for']}{asked}",
        {
            "message": message,
            "agent": row["agent"],
            "waiting_for": row["waiting_for"],
            "question": row["question"],
            "options": row["options"] or [],
        },
    )
