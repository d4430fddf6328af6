"""Parked work that goes on by itself: its deadline passed, or what it waited for is closed; and reminders."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from sereno.envelope.identifiers import to_people
from sereno.mailbox import dead_letter, notices
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.wake import Wake

PRINCIPAL = "system:reaper"

_REAPER = queries.load("sereno.mailbox", "reaper.sql")
_VERBS = queries.load("sereno.mailbox", "verbs.sql")


async def sweep(pool: AnyPool, wake: Wake, page: int) -> None:
    """One look: resume what is due with an answer that says why, and tell people again."""
    waits = [
        (row["tenant_id"], row["id"], '{"outcome":"no_answer"}')
        for row in await pool.fetch(_REAPER["unanswered"], page)
    ]
    waits += [
        (row["tenant_id"], row["id"], _closed(row["dependency"], dead=row["dead"]))
        for row in await pool.fetch(_REAPER["independent"], page)
    ]
    if waits:
        columns = map(list, zip(*waits, strict=True))
        rows = await pool.fetch(_VERBS["resume"], *columns, PRINCIPAL)
        await wake.publish({(row["tenant_id"], row["agent"]) for row in rows})
    async with pool.acquire() as conn, conn.transaction():
        reminded = await conn.fetch(_REAPER["remind"], page)
        await notices.record(conn, dead_letter.waiting(map(dict, reminded)))


async def answer(
    pool: AnyPool, answers: Sequence[tuple[str, UUID, Mapping[str, Any]]], principal: str
) -> set[tuple[str, str]]:
    """Answer parked messages (tenant, id, answer); the mailboxes to wake. What is parked no longer stays as it is."""
    rows = await pool.fetch(
        _VERBS["resume"],
        [tenant for tenant, _, _ in answers],
        [message for _, message, _ in answers],
        [orjson.dumps(said).decode() for _, _, said in answers],
        principal,
    )
    return {(row["tenant_id"], row["agent"]) for row in rows}


def _closed(dependency: UUID, *, dead: bool) -> str:
    outcome = "dead" if dead else "done"
    return orjson.dumps({"outcome": outcome, "dependency": to_people("msg", dependency)}).decode()
