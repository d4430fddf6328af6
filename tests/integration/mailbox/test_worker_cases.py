"""Rows of the public record of queues that speak of workers, by their number: the symptom is absent here."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from sereno.mailbox import Worker, standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import AckItem, ReleaseItem, RenewItem, Status
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.worker import Delivery, LeaseLostError, Release
from sereno.mailbox.worker.heartbeat import Heartbeat
from tests.mailbox_messages import message
from tests.mailbox_reading import events, outcomes, still_open
from tests.waiting import until

SECOND = timedelta(seconds=1)
OTHER = SubscriptionRef("other-watch", 1)


async def put(pool: AnyPool, count: int = 1, **fields: object) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message(**fields) for _ in range(count)])


@pytest.fixture
async def reaping(pool: AnyPool) -> AsyncIterator[None]:
    task = asyncio.create_task(Reaper(pool).run())
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def renewals(pool: AnyPool, count: int) -> Callable[[], Awaitable[bool]]:
    """Whether leases were renewed so many times in all."""

    async def enough() -> bool:
        return len(await events(pool, "renewed")) >= count

    return enough


class Deaf(Heartbeat):
    """A heartbeat whose requests get lost until it hears again."""

    hears = False

    def _renew(self, *arguments: Any) -> None:
        if not self.hears:
            raise httpx.ConnectError("lost on the way")
        super()._renew(*arguments)


async def test_q01_a_stale_heartbeat_prolongs_nothing_and_is_told_so(
    pool: AnyPool, url: str, mailbox: Mailbox, reaping: None
) -> None:
    """The owner is a stable name elsewhere: its reaped attempt prolongs the replacement's lease."""
    await put(pool)
    [first] = await mailbox.claim("acme", "triage", lease_seconds=1, incarnation="the-same-name")
    [second] = await mailbox.claim(
        "acme", "triage", lease_seconds=30, wait_seconds=10, incarnation="the-same-name"
    )
    until_before = second.lease.until
    [answer] = await mailbox.renew([RenewItem(first.lease.token)])
    assert answer.status in {Status.STALE, Status.EXPIRED}
    [live] = await mailbox.check([second.lease.token])
    assert (live.status, live.until) == (Status.OK, until_before)


async def test_q01_a_worker_that_nobody_hears_takes_its_lease_for_lost_and_stops_its_handler(
    pool: AnyPool, url: str
) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)
    worker._heartbeat = Deaf(url, "worker-token")
    stopped_at: list[float] = []

    @worker.agent("triage", lease=SECOND)
    async def handle(_delivery: Delivery) -> None:
        started = time.monotonic()
        try:
            await asyncio.Event().wait()
        finally:
            stopped_at.append(time.monotonic() - started)

    await worker.run(handle_signals=False)
    # Not before its lease was over; long before the end of its run, an hour.
    assert 0.9 <= stopped_at[0] < 60


async def test_q05_who_finishes_second_gets_a_typed_loss_and_changes_nothing(
    pool: AnyPool, url: str, mailbox: Mailbox, reaping: None
) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)
    worker._heartbeat = Deaf(url, "worker-token")
    losses: list[LeaseLostError] = []

    @worker.agent("triage", lease=SECOND)
    async def handle(delivery: Delivery) -> None:
        # What ignores its cancellation still cannot finish what another has.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        [again] = await mailbox.claim("acme", "triage", wait_seconds=10, incarnation="other")
        await mailbox.ack([AckItem(again.lease.token, "by the other")])
        try:
            await delivery.ack("by the first")
        except LeaseLostError as loss:
            losses.append(loss)

    await worker.run(handle_signals=False)
    assert [loss.status for loss in losses] == [Status.STALE]
    assert await outcomes(pool) == [("acked", None, 2)]
    acked = await events(pool, "acked")
    assert [event["data"]["result"] for event in acked] == ["by the other"]


async def test_q07_a_withdrawn_message_stops_its_handler(pool: AnyPool, url: str) -> None:
    """A discarded job keeps executing elsewhere."""
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)
    started, stopped = asyncio.Event(), asyncio.Event()

    @worker.agent("triage", lease=SECOND)
    async def handle(_delivery: Delivery) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    working = asyncio.create_task(worker.run(handle_signals=False))
    await started.wait()
    async with pool.acquire() as conn:
        await standing.withdraw(conn, "acme", "refund-watch")
    await asyncio.wait_for(stopped.wait(), 60)
    await working
    assert [state for state, _, _ in await outcomes(pool)] == ["dead"]


async def test_q11_a_draining_process_claims_nothing_while_its_successor_works(
    pool: AnyPool, url: str, mailbox: Mailbox
) -> None:
    await put(pool)
    old, new = Worker(url, "worker-token"), Worker(url, "worker-token")
    assert old.incarnation != new.incarnation
    started, finish, by = asyncio.Event(), asyncio.Event(), []

    @old.agent("triage", concurrency=4)
    async def old_handler(_delivery: Delivery) -> None:
        by.append("old")
        started.set()
        await finish.wait()

    @new.agent("triage")
    async def new_handler(_delivery: Delivery) -> None:
        by.append("new")

    draining = asyncio.create_task(old.run(handle_signals=False))
    await started.wait()
    old.stop()
    await until(lambda: not mailbox.wake._waiting)
    working = asyncio.create_task(new.run(handle_signals=False))
    await put(pool, 3)
    await until(lambda: len(by) == 4)
    finish.set()
    await draining
    new.stop()
    await working
    assert by == ["old", "new", "new", "new"]
    assert await outcomes(pool) == [("acked", None, 1)] * 4


@pytest.mark.parametrize("prefetch", [0, 8])
async def test_q13_one_bad_item_of_a_batch_concerns_no_other(pool: AnyPool, url: str, prefetch: int) -> None:
    await put(pool, 6)
    worker = Worker(url, "worker-token", max_messages=6)
    handled = 0

    async def handle(_delivery: Delivery) -> str:
        nonlocal handled
        handled += 1
        if handled == 2:
            raise SyntaxError("a bad item")
        if handled == 3:
            raise Release("not me")
        return "good"

    worker.agent("triage", concurrency=6 if prefetch == 0 else 1, prefetch=prefetch)(handle)
    await worker.run(handle_signals=False)
    assert await outcomes(pool) == [("acked", None, 1)] * 4
    assert await still_open(pool) == [("ready", 1)] * 2


async def test_q13_what_has_not_started_is_released_at_once_and_costs_no_attempt(
    pool: AnyPool, url: str
) -> None:
    await put(pool, 4)
    worker = Worker(url, "worker-token")
    started, finish = asyncio.Event(), asyncio.Event()

    @worker.agent("triage", concurrency=1, prefetch=3)
    async def handle(_delivery: Delivery) -> None:
        started.set()
        await finish.wait()

    working = asyncio.create_task(worker.run(handle_signals=False))
    await started.wait()
    worker.stop()

    async def given_back() -> bool:
        return [one for one in await still_open(pool) if one == ("ready", 0)] == [("ready", 0)] * 3

    await until(given_back)
    finish.set()
    await working
    reasons = [event["data"]["reason"] for event in await events(pool, "released")]
    assert reasons == ["not_started"] * 3
    assert await outcomes(pool) == [("acked", None, 1)]


async def test_q15_an_orphan_is_reclaimed_though_its_successor_has_the_same_name(
    pool: AnyPool, url: str, mailbox: Mailbox, reaping: None
) -> None:
    """Fresh heartbeats of the restarted pod hide the orphan for ever elsewhere."""
    await put(pool)
    await mailbox.claim("acme", "triage", lease_seconds=2, incarnation="pod-7")
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=2)
    worker.incarnation = "pod-7"
    reclaimed: list[int] = []

    @worker.agent("triage", concurrency=2, lease=SECOND)
    async def handle(delivery: Delivery) -> None:
        if delivery.attempts == 1:
            # This one keeps beating under the name that the orphan has too.
            await until(lambda: bool(reclaimed))
        else:
            reclaimed.append(delivery.attempts)

    await worker.run(handle_signals=False)
    assert reclaimed == [2]
    assert sorted(await outcomes(pool)) == [("acked", None, 1), ("acked", None, 2)]


async def test_q17_work_that_takes_many_leases_runs_once(pool: AnyPool, url: str, reaping: None) -> None:
    """Rescue by age alone ran a long job two or three times a night."""
    await put(pool)
    worker = Worker(url, "worker-token", max_messages=1)
    runs = 0

    @worker.agent("triage", lease=3 * SECOND)
    async def handle(_delivery: Delivery) -> None:
        nonlocal runs
        runs += 1
        await until(renewals(pool, 8))

    await worker.run(handle_signals=False)
    assert (runs, await outcomes(pool)) == (1, [("acked", None, 1)])


async def test_q25_a_shutdown_does_not_overwrite_a_success(pool: AnyPool, url: str, mailbox: Mailbox) -> None:
    await put(pool)
    worker = Worker(url, "worker-token", grace=timedelta(0))
    acked = asyncio.Event()
    tokens: list[int] = []

    @worker.agent("triage")
    async def handle(delivery: Delivery) -> None:
        await delivery.ack("done")
        tokens.append(delivery.token)
        acked.set()
        await asyncio.Event().wait()

    working = asyncio.create_task(worker.run(handle_signals=False))
    await acked.wait()
    worker.stop()
    await working
    [late] = await mailbox.release([ReleaseItem(tokens[0], "shutdown")])
    assert (late.status, late.state) == (Status.STALE, "acked")
    assert await outcomes(pool) == [("acked", None, 1)]
    assert [event["kind"] for event in await events(pool)] == ["claimed", "acked", "refused"]


@pytest.mark.req(181)
async def test_q27_a_handler_that_blocks_the_loop_for_two_leases_keeps_its_lease(
    pool: AnyPool, url: str, reaping: None
) -> None:
    await put(pool)

    def compute() -> int:
        """A worker in a thread and loop of its own, whose handler burns its processor for two leases."""
        rounds = 0
        worker = Worker(url, "worker-token", max_messages=1)

        @worker.agent("triage", lease=2 * SECOND)
        async def handle(_delivery: Delivery) -> int:
            nonlocal rounds
            ends = time.monotonic() + 4
            while time.monotonic() < ends:
                rounds += 1
            return rounds

        asyncio.run(worker.run(handle_signals=False))
        return rounds

    assert await asyncio.to_thread(compute) > 0
    assert await outcomes(pool) == [("acked", None, 1)]


@pytest.mark.parametrize(
    ("options", "fault", "sentence"),
    [
        ({"lease": 60}, TypeError, "lease: expected a timedelta"),
        ({"lease": timedelta(milliseconds=60)}, ValueError, "lease: expected 0:00:01 to 1 day"),
        ({"lease": timedelta(days=2)}, ValueError, "lease: expected"),
        ({"lease": -SECOND}, ValueError, "lease: expected"),
        ({"concurrency": 0}, ValueError, "concurrency: expected 1 to 1000, got 0"),
        ({"prefetch": 100_000}, ValueError, "prefetch: expected 0 to 1000"),
    ],
)
def test_q41_lengths_of_time_have_a_unit_and_bounds(
    options: dict[str, Any], fault: type[Exception], sentence: str
) -> None:
    with pytest.raises(fault, match=sentence):
        Worker("http://127.0.0.1:9", None).agent("triage", **options)


async def test_q43_prefetched_messages_keep_their_leases_and_their_order(
    pool: AnyPool, url: str, reaping: None
) -> None:
    """Visibility ends in mid-batch elsewhere: later items are processed twice, or out of order."""
    await put(pool, 5)
    worker = Worker(url, "worker-token", max_messages=5)
    handled: list[tuple[str, int]] = []

    @worker.agent("triage", concurrency=1, prefetch=4, lease=3 * SECOND)
    async def handle(delivery: Delivery) -> None:
        handled.append((delivery.id, delivery.attempts))
        if len(handled) == 1:
            # Long enough that the leases of the others would be over.
            await until(renewals(pool, 5 * 5))

    await worker.run(handle_signals=False)
    assert handled == sorted(handled)
    assert [attempts for _, attempts in handled] == [1] * 5
    assert await outcomes(pool) == [("acked", None, 1)] * 5


async def test_q43_a_prefetched_message_whose_lease_is_lost_is_not_started(pool: AnyPool, url: str) -> None:
    await put(pool)
    await put(pool, 2, subscription=OTHER)
    worker = Worker(url, "worker-token", max_messages=3)
    first, go_on = asyncio.Event(), asyncio.Event()
    handled: list[str] = []

    @worker.agent("triage", concurrency=1, prefetch=4, lease=SECOND)
    async def handle(delivery: Delivery) -> None:
        handled.append(str(delivery.document["subscription"]["name"]))
        first.set()
        await go_on.wait()

    working = asyncio.create_task(worker.run(handle_signals=False))
    await first.wait()
    async with pool.acquire() as conn:
        await standing.withdraw(conn, "acme", OTHER.name)

    async def told() -> bool:
        return len(await outcomes(pool)) == 2

    await until(told)
    go_on.set()
    await working
    assert handled == ["refund-watch"]


async def test_q69_one_request_renews_the_leases_of_a_process(
    pool: AnyPool,
    url: str,
    mailbox: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leases = 200
    beats: list[int] = []
    renew = mailbox.renew

    async def counted(items: Any, *arguments: Any) -> Any:
        beats.append(len(items))
        return await renew(items, *arguments)

    monkeypatch.setattr(mailbox, "renew", counted)
    await put(pool, leases)
    worker = Worker(url, "worker-token", max_messages=leases)
    running = 0

    @worker.agent("triage", concurrency=leases, lease=6 * SECOND)
    async def handle(_delivery: Delivery) -> None:
        nonlocal running
        running += 1
        await until(lambda: len(beats) >= 3)

    await worker.run(handle_signals=False)
    assert running == leases
    assert beats[:3] == [leases] * 3
