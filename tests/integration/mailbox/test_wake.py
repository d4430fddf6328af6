"""Wake-ups: a hint ends the wait at once, without one nothing is lost, and waiting costs one statement a poll."""

import asyncio
import time

import pytest

from sereno.mailbox import verbs
from sereno.mailbox.claiming import Claim, Claims
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine import bus
from sereno.mailbox.lease_items import Claimed
from sereno.mailbox.message import Message
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake, mailboxes
from tests.engines import Engines
from tests.mailbox_messages import message
from tests.waiting import until

FAR = 60.0


class Counting(Claims):
    """Counts how often it looked for work."""

    looked = 0

    async def take(self, claim: Claim) -> list[Claimed]:
        found = await super().take(claim)
        self.looked += 1
        return found


@pytest.fixture
def claims(pool: AnyPool, monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Where every mailbox of the test looks for work."""
    counting = Counting(pool)
    monkeypatch.setattr(verbs, "Claims", lambda _: counting)
    return counting


async def put(pool: AnyPool, *messages: Message) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, messages)


async def test_a_hint_of_another_process_ends_the_wait(
    engines: Engines, pool: AnyPool, claims: Counting
) -> None:
    gateway = await bus.connect(engines.nats, name="gateway", seed=engines.seed("gateway"))
    pipeline = await bus.connect(engines.nats, name="pipeline", seed=engines.seed("pipeline"))
    wake = Wake(gateway)
    await wake.start()
    await gateway.flush()
    mailbox = Mailbox(pool, wake=wake, poll_seconds=FAR)
    waiting = asyncio.create_task(mailbox.claim("acme", "triage", wait_seconds=FAR, incarnation="w"))
    # It looked once and found nothing, so only a hint can end its wait in time.
    await until(lambda: claims.looked == 1)
    given = message()
    await put(pool, given)
    await Wake(pipeline).publish(mailboxes([given]))
    async with asyncio.timeout(60):
        [got] = await waiting
    assert got.id == given.id
    await gateway.close()
    await pipeline.close()


async def test_without_a_hint_the_next_poll_finds_it(pool: AnyPool) -> None:
    mailbox = Mailbox(pool, poll_seconds=0.2)
    waiting = asyncio.create_task(mailbox.claim("acme", "triage", wait_seconds=FAR, incarnation="w"))
    await until(lambda: bool(mailbox.wake._waiting))
    await put(pool, message())
    async with asyncio.timeout(60):
        assert len(await waiting) == 1


async def test_a_bus_that_is_away_costs_no_deposit(engines: Engines, pool: AnyPool) -> None:
    nats = await bus.connect(engines.nats, name="pipeline", seed=engines.seed("pipeline"))
    await nats.close()
    given = message()
    await put(pool, given)
    await Wake(nats).publish(mailboxes([given]))
    assert len(await Mailbox(pool).claim("acme", "triage", incarnation="w")) == 1


async def test_one_hint_a_mailbox_however_many_messages() -> None:
    assert mailboxes([message(), message(), message(agent="other")]) == {
        ("acme", "triage"),
        ("acme", "other"),
    }


async def test_an_idle_wait_asks_once_a_poll(pool: AnyPool, claims: Counting) -> None:
    mailbox = Mailbox(pool, poll_seconds=0.3)
    started = time.monotonic()
    for _ in range(2):
        assert await mailbox.claim("acme", "triage", wait_seconds=0.9, incarnation="w") == []
    took = time.monotonic() - started
    assert claims.looked <= took / 0.3 + 1


async def test_a_claim_for_somebody_who_went_away_takes_nothing(pool: AnyPool) -> None:
    gone = asyncio.Event()

    async def connected() -> bool:
        return not gone.is_set()

    mailbox = Mailbox(pool, poll_seconds=0.1)
    waiting = asyncio.create_task(
        mailbox.claim("acme", "triage", wait_seconds=FAR, incarnation="w", connected=connected)
    )
    await until(lambda: bool(mailbox.wake._waiting))
    gone.set()
    await put(pool, message())
    async with asyncio.timeout(60):
        assert await waiting == []
    assert await pool.fetchval("select state from mailbox.work") == "ready"
