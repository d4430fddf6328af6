"""A handler that sets its message aside, and one that emits: the worker's side of both verbs."""

import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from sereno.execution_plane.agent_events import AgentEvents
from sereno.mailbox import Worker
from sereno.mailbox.client import MailboxClient
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.worker import Delivery, Park
from tests.integration.mailbox.conftest import CommandLine
from tests.mailbox_messages import message
from tests.mailbox_reading import events, outcomes, shown


async def put(pool: AnyPool) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message()])


async def test_a_parked_message_comes_back_with_its_answer(pool: AnyPool, url: str) -> None:
    await put(pool)
    seen: list[Sequence[Any]] = []

    def worker() -> Worker:
        made = Worker(url, "worker-token", max_messages=1)

        @made.agent("triage")
        async def handle(delivery: Delivery) -> object:
            seen.append(delivery.answers)
            if not delivery.answers:
                raise Park("question", "Refund or replace?", options=["refund", "replace"])
            return delivery.answers

        return made

    await worker().run(handle_signals=False)
    [parked] = await shown(pool)
    assert (parked["state"], parked["attempts"]) == ("parked", 0)
    person = MailboxClient(url, "admin-token")
    await person.resume(parked["id"], {"option": "refund"})
    await person.close()
    await worker().run(handle_signals=False)
    assert seen[0] == []
    assert "refund" in str(seen[1])
    assert await outcomes(pool) == [("acked", None, 1)]


async def test_a_handler_and_a_command_emit_events_of_their_agent(
    pool: AnyPool, mailbox: Mailbox, url: str, sereno: CommandLine
) -> None:
    mailbox._emitter = AgentEvents(os.urandom)
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)
    receipts: list[str] = []

    @worker.agent("triage")
    async def handle(delivery: Delivery) -> None:
        receipts.append(await delivery.emit("com.example.draft.written", {"words": 7}, subject="ticket-1"))

    await worker.run(handle_signals=False)
    assert receipts[0].startswith("rcp_")
    await put(pool)
    code = 'print(\'{"emit": [{"type": "com.example.report.written", "data": {"pages": 3}}]}\')'
    status, _, err = await sereno.run(
        "work", "triage", "--exec", shlex.join([sys.executable, "-c", code]), "--max", "1"
    )
    assert (status, err) == (0, "")
    assert await outcomes(pool) == [("acked", None, 1)] * 2
    left = [
        bytes(row["payload"])
        for row in await pool.fetch("select payload from execution.outbox order by position")
    ]
    assert [b"com.example.draft.written" in left[0], b"com.example.report.written" in left[1]] == [True, True]
    assert len(await events(pool, "emitted")) == 2
