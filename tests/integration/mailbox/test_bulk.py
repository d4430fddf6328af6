"""`sereno mailbox dead|redrive` against the API: counted first, done whole, and said how many."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from sereno.mailbox.commands.bulk import dead, redrive
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import ReleaseItem
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_reading import events, outcomes, still_open


async def put(pool: AnyPool, count: int, **fields: object) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message(**fields) for _ in range(count)])


async def reject_all(mailbox: Mailbox) -> None:
    claimed = await mailbox.claim("acme", "triage", max=1000, incarnation="w")
    await mailbox.release([ReleaseItem(one.lease.token, "rejected: unreadable") for one in claimed])


@pytest.fixture
def ask(url: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    async def run(command: Callable[..., None], **options: Any) -> dict[str, int]:
        capsys.readouterr()
        given = {
            "agent": "triage",
            "reason": "mended",
            "url": url,
            "token": "worker-token",
            "json": True,
            **options,
        }
        await asyncio.to_thread(lambda: command(**given))
        answer: dict[str, int] = json.loads(capsys.readouterr().out)
        return answer

    return run


async def test_the_dead_come_back_with_counters_anew(
    pool: AnyPool, mailbox: Mailbox, ask: Callable[..., Any]
) -> None:
    await put(pool, 3)
    await reject_all(mailbox)
    assert await ask(redrive, died_of="rejected", preview=True) == {"matching": 3, "done": 0}
    assert await outcomes(pool) == [("dead", "rejected", 1)] * 3
    assert await ask(redrive, died_of="exhausted") == {"matching": 0, "done": 0}
    assert await ask(redrive, died_of="rejected") == {"matching": 3, "done": 3}
    assert await still_open(pool) == [("ready", 0)] * 3
    assert len(await events(pool, "redriven")) == 3


async def test_open_messages_are_ended_by_filter(pool: AnyPool, ask: Callable[..., Any]) -> None:
    await put(pool, 2)
    await put(pool, 1, subscription=SubscriptionRef("other-watch", 1))
    assert await ask(dead, subscription="other-watch") == {"matching": 1, "done": 1}
    assert await still_open(pool) == [("ready", 0)] * 2
    assert await ask(dead, everything=True) == {"matching": 2, "done": 2}
    assert {state for state, _, _ in await outcomes(pool)} == {"dead"}
