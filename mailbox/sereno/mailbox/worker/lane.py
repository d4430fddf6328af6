"""A lane: one agent's handler, the leases in hand for it, and what it claims next."""

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from opentelemetry.trace import Span

from sereno.mailbox.client import LeasedMessage, MailboxClient, MailboxError
from sereno.mailbox.engine.logs import logger
from sereno.mailbox.lease_items import AckItem, ParkItem, ReleaseItem
from sereno.mailbox.worker import running
from sereno.mailbox.worker.delivery import Accepted, Delivery, Park, Release, Result
from sereno.mailbox.worker.heartbeat import Heartbeat
from sereno.mailbox.worker.holding import MAX_REASON, End, Holding
from sereno.mailbox.worker.watch import Watch

MAX_CONCURRENCY = 1000
MAX_PREFETCH = 1000
LEASE_BOUNDS = (timedelta(seconds=1), timedelta(days=1))
_log = logger("worker")

Handler = Callable[[Delivery], Awaitable[object]]
"""Does the work of one message; what it returns (JSON, at most 64 KiB) is the result."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """Whose mailbox, how many messages at once, how many more in hand, and how long a lease is (None: the message's).

    Raises ValueError naming what is out of bounds, TypeError for a lease that is not a `timedelta`.
    """

    agent: str
    concurrency: int = 1
    prefetch: int = 0
    lease: timedelta | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", self.agent.removeprefix("agent:"))
        _expect_within("concurrency", self.concurrency, 1, MAX_CONCURRENCY)
        _expect_within("prefetch", self.prefetch, 0, MAX_PREFETCH)
        if self.lease is None:
            return
        if not isinstance(self.lease, timedelta):
            raise TypeError(f"lease: expected a timedelta, which has a unit, got {self.lease!r}")
        least, most = LEASE_BOUNDS
        if not least <= self.lease <= most:
            raise ValueError(f"lease: expected {least} to {most}, got {self.lease}")


def _expect_within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name}: expected {least} to {most}, got {value}")


def expect_handler(handler: Handler) -> None:
    """Raises TypeError for what is not an `async def` function or an object with an `async def __call__`."""
    if not any(map(inspect.iscoroutinefunction, (handler, getattr(handler, "__call__", None)))):  # noqa: B004
        raise TypeError(f"expected an 'async def' handler, got {handler!r}")


class Lane:
    """Runs at most `concurrency` handlers, and holds at most `prefetch` more messages whose leases it keeps."""

    def __init__(
        self,
        settings: LaneSettings,
        handler: Handler,
        client: MailboxClient,
        *,
        heartbeat: Heartbeat,
        watch: Watch,
    ) -> None:
        self.settings = settings
        self._handler = handler
        self._client = client
        self._heartbeat = heartbeat
        self._watch = watch
        self._waiting: deque[Delivery] = deque()
        self._running: set[asyncio.Task[None]] = set()

    @property
    def room(self) -> int:
        """How many messages to claim now: none before half of the prefetched ones are gone."""
        settings = self.settings
        if len(self._waiting) > settings.prefetch // 2:
            return 0
        return settings.concurrency + settings.prefetch - len(self._running) - len(self._waiting)

    @property
    def busy(self) -> bool:
        """Whether anything is in hand."""
        return bool(self._waiting or self._running)

    async def changes(self, stopped: asyncio.Event) -> None:
        """Return when a handler ended, or at the stop."""
        stopping = asyncio.ensure_future(stopped.wait())
        await asyncio.wait({stopping, *self._running}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    def take(self, messages: list[LeasedMessage]) -> None:
        """Keep the leases of what was claimed, and start as many handlers as may run."""
        for message in messages:
            holding = Holding(self._client, self._heartbeat, message.token, message.lease_seconds)
            self._waiting.append(Delivery(message.document, holding))
        self._start()

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.settings.concurrency:
            delivery = self._waiting.popleft()
            if delivery.holding.lost.is_set():
                _log.warning("lost_before_its_start", message=delivery.id, token=delivery.token)
                continue
            task = asyncio.create_task(self._handle(delivery), name=delivery.id)
            self._running.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.error("lease_left_to_expire", message=task.get_name(), error=type(fault).__name__)
        self._start()

    async def _handle(self, delivery: Delivery) -> None:
        """One message from its start to the end of its lease; whatever happens here concerns no other."""
        with running.running(delivery) as span:
            await self._run(delivery, span)

    async def _run(self, delivery: Delivery, span: Span) -> None:
        holding = delivery.holding
        work = asyncio.ensure_future(self._work(delivery))
        holding.runs(work)
        try:
            end = await self._end(work, holding)
        except asyncio.CancelledError:
            await self._cancelled(delivery, work)
            return
        if holding.lost.is_set():
            self._log_loss(delivery)
        else:
            running.ended(span, end)
            await holding.close(end)

    async def _end(self, work: "asyncio.Future[object]", holding: Holding) -> End:
        try:
            return await _end(work, holding.token)
        except Accepted as accepted:
            return await self._ended_elsewhere(holding, accepted)

    async def _ended_elsewhere(self, holding: Holding, accepted: Accepted) -> End:
        """Keep the lease until somebody who has its token ends it, or its deadline does; a drain leaves it to them."""
        if accepted.progress is not None:
            holding.report(accepted.progress)
        self._watch.keep(holding.token, holding.over)
        try:
            await holding.lost.wait()
        except asyncio.CancelledError:
            holding.leave()
            raise
        finally:
            self._watch.drop(holding.token)
        return ReleaseItem(holding.token, "ended elsewhere")

    async def _work(self, delivery: Delivery) -> object:
        # In a coroutine of its own: a handler that raises before it awaits fails like any other.
        return await self._handler(delivery)

    def _log_loss(self, delivery: Delivery) -> None:
        ending = delivery.holding.ending
        log = _log.info if ending == "acked" else _log.warning
        log("lease_ended_elsewhere", message=delivery.id, token=delivery.token, status=ending)

    async def _cancelled(self, delivery: Delivery, work: "asyncio.Future[object]") -> None:
        holding, task = delivery.holding, asyncio.current_task()
        if holding.lost.is_set():
            self._log_loss(delivery)
        elif task is not None and task.cancelling():
            work.cancel()
            await asyncio.wait({work})
            await holding.close(ReleaseItem(delivery.token, "shutdown"))
        else:
            await holding.close(ReleaseItem(delivery.token, "failed: CancelledError"))

    async def give_back(self, messages: list[LeasedMessage]) -> None:
        """Release what was claimed and will not be started."""
        if messages:
            try:
                await self._client.release(
                    [ReleaseItem(message.token, "not_started") for message in messages]
                )
            except MailboxError as fault:
                _log.warning("leases_left_to_expire", leases=len(messages), error=type(fault).__name__)

    async def drain(self, grace: float | None) -> None:
        """Release what has not started, let what runs finish within `grace` seconds, then cancel and release it."""
        waiting = [delivery for delivery in self._waiting if not delivery.holding.lost.is_set()]
        self._waiting.clear()
        for delivery in waiting:
            delivery.holding.leave()
        await self.give_back(list(waiting))
        running = set(self._running)
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)


async def _end(work: "asyncio.Future[object]", token: int) -> End:
    """With what the lease ends. Raises `Accepted` when somebody else will end it."""
    try:
        return _acknowledgement(token, await work)
    except Release as release:
        after = None if release.retry_after is None else release.retry_after.total_seconds()
        return ReleaseItem(token, release.reason[:MAX_REASON], after)
    except Park as park:
        remind = None if park.remind_after is None else park.remind_after.total_seconds()
        return ParkItem(
            token, park.waiting_for, park.question, park.options, park.deadline, remind, park.dependency
        )
    except Accepted:
        raise
    except Exception as fault:  # noqa: BLE001 - whatever a handler raises is its failure, not the worker's
        _log.warning("handler_failed", token=token, error=type(fault).__name__)
        return ReleaseItem(token, f"failed: {type(fault).__name__}"[:MAX_REASON])


def _acknowledgement(token: int, result: object) -> AckItem:
    if isinstance(result, Result):
        return AckItem(token, result.value, result.usage)
    usage = result.get("usage") if isinstance(result, dict) else None
    return AckItem(token, result, usage if isinstance(usage, dict) else None)
