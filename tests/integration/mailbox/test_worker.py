"""The Python worker against a real mailbox: results, failures, lost leases, draining."""

import asyncio
import time
from datetime import timedelta

import pytest

from sereno.mailbox import standing
from sereno.mailbox.client import MailboxRefusedError, MailboxUnansweredError
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import Status
from sereno.mailbox.reaper import INTERVAL_SECONDS, Reaper
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.worker import Delivery, Reject, Release, Worker
from tests.mailbox_messages import message
from tests.mailbox_reading import events, outcomes, still_open
from tests.waiting import until


async def put(pool: AnyPool, count: int = 1, **fields: object) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message(**fields) for _ in range(count)])


async def closed(pool: AnyPool) -> list[tuple[str, str | None]]:
    return [(state, reason) for state, reason, _ in await outcomes(pool)]


async def test_a_returned_value_is_the_result(pool: AnyPool, url: str) -> None:
    await put(pool, 5)
    worker = Worker(url, "worker-token", once=True)
    running = most = 0

    @worker.agent("triage", concurrency=2)
    async def handle(delivery: Delivery) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return {"did": delivery.instruction, "usage": {"tokens": 3}}

    await worker.run(handle_signals=False)
    assert await closed(pool) == [("acked", None)] * 5
    assert most == 2
    assert [event["data"]["usage"] for event in await events(pool, "acked")] == [{"tokens": 3}] * 5


@pytest.mark.parametrize(
    ("raised", "event"),
    [
        (Release("busy"), {"reason": "busy"}),
        (RuntimeError("secret detail"), {"reason": "failed: RuntimeError"}),
    ],
)
async def test_what_a_handler_raises_gives_the_message_back(
    pool: AnyPool, url: str, raised: Exception, event: dict[str, str]
) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)

    @worker.agent("triage")
    async def handle(_delivery: Delivery) -> object:
        raise raised

    await worker.run(handle_signals=False)
    [released] = await events(pool, "released")
    data = released["data"]
    assert event.items() <= data.items()


async def test_a_rejected_message_is_dead(pool: AnyPool, url: str) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", once=True)

    @worker.agent("triage")
    async def handle(_delivery: Delivery) -> object:
        raise Reject

    await worker.run(handle_signals=False)
    assert await closed(pool) == [("dead", "rejected")]


async def test_an_oversize_result_is_a_failure_that_says_so(pool: AnyPool, url: str) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)

    @worker.agent("triage")
    async def handle(_delivery: Delivery) -> object:
        return "x" * 70_000

    await worker.run(handle_signals=False)
    [released] = await events(pool, "released")
    data = released["data"]
    assert data["reason"].startswith("result refused: body.items.0.result")


@pytest.mark.req(181)
async def test_leases_are_renewed_while_handlers_run_even_when_one_blocks_the_loop(
    pool: AnyPool, url: str
) -> None:
    await put(pool, 3)
    ended = await asyncio.to_thread(_blocking_worker, url)
    assert ended >= 3.0
    assert await closed(pool) == [("acked", None)] * 3
    renewed = [event["at"] for event in await events(pool, "renewed")]
    assert len(renewed) >= 6
    assert len(set(renewed)) < len(renewed)


def _blocking_worker(url: str) -> float:
    """A worker on a loop of its own whose handlers block it for longer than their lease of 1.5 s."""
    started = time.monotonic()

    async def run() -> None:
        worker = Worker(url, "worker-token", once=True)
        together = asyncio.Barrier(3)

        @worker.agent("triage", concurrency=3, lease=timedelta(seconds=1.5))
        async def handle(_delivery: Delivery) -> object:
            await together.wait()
            time.sleep(1.0)  # noqa: ASYNC251 - the point of the test
            return None

        await worker.run(handle_signals=False)

    asyncio.run(run())
    return time.monotonic() - started


async def test_progress_travels_with_a_renewal(pool: AnyPool, url: str) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)

    async def reported() -> bool:
        return any("progress" in event["data"] for event in await events(pool, "renewed"))

    @worker.agent("triage", lease=timedelta(seconds=60))
    async def handle(delivery: Delivery) -> object:
        delivery.report({"step": 1})
        delivery.report({"step": 2})
        await until(reported)
        return None

    await worker.run(handle_signals=False)
    [progress] = [event["data"]["progress"] for event in await events(pool, "renewed")]
    assert progress == {"step": 2}


@pytest.mark.req(31)
async def test_a_holder_can_ask_right_before_an_effect_whether_it_may_still_act(
    pool: AnyPool, url: str
) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)
    answers = []

    @worker.agent("triage", lease=timedelta(seconds=60))
    async def handle(delivery: Delivery) -> object:
        answers.append(await delivery.check())
        async with pool.acquire() as conn:
            await standing.hold(conn, "acme", "refund-watch", "paused")
        answers.append(await delivery.check())
        return None

    await worker.run(handle_signals=False)
    assert answers == [Status.OK, Status.CANCELLED]


async def test_an_agent_has_one_handler_and_it_is_async() -> None:
    worker = Worker("http://127.0.0.1:9", None)
    worker.agent("triage")(_idle)
    with pytest.raises(ValueError, match="agent: triage has a handler already"):
        worker.agent("agent:triage")(_idle)
    with pytest.raises(TypeError, match="expected an 'async def' handler"):
        worker.agent("other")(lambda _delivery: None)  # type: ignore[arg-type, return-value]


async def test_a_lost_lease_cancels_the_handler(pool: AnyPool, url: str) -> None:
    await put(pool)
    worker = Worker(url, "worker-token")
    started, cancelled = asyncio.Event(), asyncio.Event()

    @worker.agent("triage", lease=timedelta(seconds=1))
    async def handle(_delivery: Delivery) -> object:
        started.set()
        try:
            return await asyncio.Event().wait()
        finally:
            cancelled.set()

    working = asyncio.create_task(worker.run(handle_signals=False))
    await started.wait()
    async with pool.acquire() as conn:
        await standing.hold(conn, "acme", "refund-watch", "paused")
    async with asyncio.timeout(60):
        await cancelled.wait()
    worker.stop()
    await working
    row = await pool.fetchrow("select state, attempts, ended from mailbox.work")
    assert row is not None
    assert tuple(row) == ("ready", 0, "cancelled")


async def test_a_drain_finishes_what_runs_and_releases_the_rest_after_the_grace(
    pool: AnyPool, url: str
) -> None:
    await put(pool, 2)
    worker = Worker(url, "worker-token", grace=timedelta(seconds=0.5))
    handled: list[int] = []
    both, go_on = asyncio.Barrier(3), asyncio.Event()

    @worker.agent("triage", concurrency=2)
    async def handle(delivery: Delivery) -> object:
        handled.append(delivery.token)
        first = len(handled) == 1
        await both.wait()
        await (go_on if first else asyncio.Event()).wait()
        return "done"

    working = asyncio.create_task(worker.run(handle_signals=False))
    await both.wait()
    worker.stop()
    go_on.set()
    await working
    assert await closed(pool) == [("acked", None)]
    [released] = await events(pool, "released")
    data = released["data"]
    assert data["reason"] == "shutdown"


async def test_nothing_is_claimed_once_the_drain_began(pool: AnyPool, url: str, mailbox: Mailbox) -> None:
    worker = Worker(url, "worker-token")

    @worker.agent("triage")
    async def handle(_delivery: Delivery) -> object:
        raise AssertionError("nothing must start")

    working = asyncio.create_task(worker.run(handle_signals=False))

    await until(lambda: bool(mailbox.wake._waiting))
    worker.stop()
    await put(pool, 3)
    await working
    assert await still_open(pool) == [("ready", 0)] * 3


@pytest.mark.req(25, 151)
async def test_work_of_a_vanished_holder_is_claimed_again_within_a_quarter_more_than_its_lease(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool)
    await mailbox.claim("acme", "triage", lease_seconds=2, incarnation="gone")
    reaping = asyncio.create_task(Reaper(pool, wake=mailbox.wake).run())
    [again] = await mailbox.claim("acme", "triage", wait_seconds=30, incarnation="w2")
    reaping.cancel()
    assert again.attempts == 2
    first, second = [event["at"] for event in await events(pool, "claimed")]
    assert (second - first).total_seconds() >= 2.0
    # How long a loaded machine takes besides is not ours.
    assert INTERVAL_SECONDS <= 2.0 / 4


async def test_a_wrong_token_ends_the_worker(url: str) -> None:
    worker = Worker(url, "nobody")
    worker.agent("triage")(_idle)
    with pytest.raises(MailboxRefusedError, match="expected a valid token"):
        await worker.run(handle_signals=False)


async def test_one_round_without_an_answer_says_so() -> None:
    worker = Worker("http://127.0.0.1:9", None, once=True)
    worker.agent("triage")(_idle)
    with pytest.raises(MailboxUnansweredError, match="does not answer"):
        await worker.run(handle_signals=False)


async def _idle(_delivery: Delivery) -> object:
    return None
