"""Each event of the log says who did it, for whom, in which run, under which lease: one test over all kinds."""

import os
from datetime import UTC, datetime
from typing import Any

import pytest

from sereno.execution_plane.agent_events import AgentEvents
from sereno.mailbox import retention, standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.lease.log import KINDS
from sereno.mailbox.lease_items import AckItem, EmitItem, ParkItem, ReleaseItem, RenewItem, Status
from sereno.mailbox.principal import Principal
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import claim_one, lapse, put

WORKER = Principal("agent:triage", "acme")
MARTA: dict[str, Any] = {"reason": "again", "principal": "user:marta"}


async def one_life(pool: AnyPool) -> list[int]:
    """One message through everything that can happen to it; answers its tokens."""
    mailbox = Mailbox(pool, emitter=AgentEvents(os.urandom))
    await put(pool, message(max_attempts=3, context={"on_behalf_of": "user:ana"}))
    tokens: list[int] = []

    async def claim(**arguments: Any) -> int:
        got = await claim_one(mailbox, principal=WORKER, **arguments)
        tokens.append(got.lease.token)
        return got.lease.token

    token = await claim()
    await mailbox.renew([RenewItem(token, {"step": 1})], WORKER)
    await mailbox.emit([EmitItem(token, "com.acme.said")], WORKER)
    await mailbox.release([ReleaseItem(token, "not_started")], WORKER)
    token = await claim()
    await mailbox.park([ParkItem(token, "approval")], WORKER)
    [row] = await pool.fetch("select id from mailbox.work")
    await mailbox.resume("acme", row["id"], {"ok": True}, "user:marta")
    token = await claim()
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", "refund-watch", "paused", principal="user:marta")
        assert (await mailbox.renew([RenewItem(token)], WORKER))[0].status is Status.CANCELLED
        await standing.unhold(conn, "acme", "refund-watch", "paused", principal="user:marta")
    token = await claim(lease_seconds=0.02)
    await lapse(pool, token)
    await Reaper(pool).sweep()
    token = await claim()
    async with pool.acquire() as conn:
        await standing.withdraw(conn, "acme", "refund-watch", principal="user:marta")
    await mailbox.renew([RenewItem(token)], WORKER)
    async with pool.acquire() as conn, conn.transaction():
        await retention._carry(conn, datetime.now(UTC).date())
    await mailbox.redrive("acme", Filter(), **MARTA)
    token = await claim()
    await mailbox.ack([AckItem(tokens[0])], WORKER)
    await mailbox.ack([AckItem(token, {"done": 1}, {"tokens": 7})], WORKER)
    return tokens


@pytest.mark.req(309, 311, 325, 332)
async def test_every_kind_of_event_says_who_for_whom_in_which_run_under_which_lease(pool: AnyPool) -> None:
    tokens = await one_life(pool)
    rows = await pool.fetch("select * from mailbox.history order by position")
    assert {row["kind"] for row in rows} == KINDS
    first, second = rows[0]["run_id"], rows[-1]["run_id"]
    assert first != second
    began = next(n for n, row in enumerate(rows) if row["kind"] == "redriven")
    for number, row in enumerate(rows):
        assert row["on_behalf_of"] == "user:ana", row["kind"]
        # What is refused belongs to the run of the lease that it names.
        assert row["run_id"] == (first if number < began or row["kind"] == "refused" else second), row["kind"]
        assert row["token"] in tokens, row["kind"]
    by = {
        "user:marta": {"resumed", "held", "unheld", "withdrawn", "redriven"},
        "agent:triage": {
            "claimed", "renewed", "emitted", "released", "parked", "cancelled", "died", "refused", "acked",
        },
        "system:reaper": {"expired"},
        "system:retention": {"carried"},
    }  # fmt: skip
    assert {who: {row["kind"] for row in rows if row["principal"] == who} for who in by} == by
