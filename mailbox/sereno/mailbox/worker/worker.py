"""The worker: claims for its agents, runs handlers, keeps leases, and ends without leaving work behind."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.worker.api import WorkerApi, WorkerError, WorkerRefusedError, WorkerUnansweredError
from sereno.mailbox.worker.delivery import Delivery, Release
from sereno.mailbox.worker.heartbeat import Heartbeat

CLAIM_WAIT_SECONDS = 2.0
GRACE_SECONDS = 30.0
_RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
_MAX_REASON = 500
_log = logger("worker")

Handler = Callable[[Delivery], Awaitable[object]]
"""Does the work of one message; what it returns (JSON, at most 64 KiB) is the result."""


@dataclass(slots=True)
class _Lane:
    """One agent's handler with its running tasks."""

    agent: str
    handler: Handler
    concurrency: int
    lease_seconds: float | None
    running: set[asyncio.Task[None]] = field(default_factory=set)


class Worker:
    """Handlers by agent, over one HTTP API, in the token's tenant or the one named.

    A handler that returns acknowledges with its result; one that raises `Release` or `Reject` decides
    otherwise; any other exception gives the message back as failed. A lost lease cancels the handler.
    SIGTERM drains: nothing new is claimed, what has not started is released, what runs gets
    `grace_seconds`, then it is cancelled and released. `max_messages` ends the worker after so many;
    `once` when nothing is ready.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        tenant: str | None = None,
        grace_seconds: float = GRACE_SECONDS,
        max_messages: int | None = None,
        once: bool = False,
    ) -> None:
        self._api = WorkerApi(url, token, tenant)
        self._heartbeat = Heartbeat(url, token)
        self._grace = grace_seconds
        self._left = max_messages
        self._once = once
        self._lanes: list[_Lane] = []
        self._stop = asyncio.Event()
        # Host and pid are for people; the random part tells two incarnations of one name apart.
        self.incarnation = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def agent(
        self, name: str, *, concurrency: int = 1, lease_seconds: float | None = None
    ) -> Callable[[Handler], Handler]:
        """Decorate the handler of an agent's messages, of which at most `concurrency` run at once."""

        def register(handler: Handler) -> Handler:
            self._lanes.append(_Lane(name, handler, concurrency, lease_seconds))
            return handler

        return register

    def stop(self) -> None:
        """Begin to drain."""
        self._stop.set()

    async def run(self, *, handle_signals: bool = True) -> None:
        """Work until told to stop; SIGTERM and SIGINT do, unless the caller handles signals.

        Raises `WorkerRefusedError` when the API refuses this worker for good, and with `once` also
        `WorkerUnansweredError`.
        """
        self._heartbeat.start()
        try:
            with self._signals() if handle_signals else contextlib.nullcontext():
                async with asyncio.TaskGroup() as group:
                    for lane in self._lanes:
                        group.create_task(self._serve(lane))
        except BaseExceptionGroup as failed:
            # Not `except*`: Python 3.11.2 wraps what is raised in it into a group again.
            ours, others = failed.split(WorkerError)
            if ours is None or others is not None:
                raise
            raise ours.exceptions[0] from None
        finally:
            await asyncio.to_thread(self._heartbeat.close)
            await self._api.close()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def _serve(self, lane: _Lane) -> None:
        try:
            await self._claim_until_done(lane)
        except BaseException:
            self._stop.set()
            raise
        finally:
            await self._drain(lane)

    async def _claim_until_done(self, lane: _Lane) -> None:
        failures = 0
        while not self._stop.is_set() and self._left != 0:
            free = lane.concurrency - len(lane.running)
            if free <= 0:
                await self._wait_for_slot(lane)
                continue
            try:
                some = await self._claim(lane, free if self._left is None else min(free, self._left))
            except WorkerUnansweredError as fault:
                if self._once:
                    raise
                _log.warning("claim_failed", agent=lane.agent, error=str(fault))
                await self._pause(_RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)])
                failures += 1
                continue
            failures = 0
            if self._once and not some:
                break

    async def _wait_for_slot(self, lane: _Lane) -> None:
        stopped = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({stopped, *lane.running}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def _claim(self, lane: _Lane, free: int) -> bool:
        """Claim and start what came; whether anything did."""
        body: dict[str, Any] = {
            "max": free,
            "wait_seconds": 0 if self._once else CLAIM_WAIT_SECONDS,
            "incarnation": self.incarnation,
        }
        if lane.lease_seconds is not None:
            body["lease_seconds"] = lane.lease_seconds
        deliveries = await self._api.claim(lane.agent, body)
        if self._stop.is_set():
            await self._give_back(deliveries)
            return False
        for delivery in deliveries:
            self._start(lane, delivery)
        return bool(deliveries)

    def _start(self, lane: _Lane, delivery: Delivery) -> None:
        if self._left is not None:
            self._left -= 1
        task = asyncio.create_task(self._handle(lane, delivery), name=delivery.id)
        lane.running.add(task)
        task.add_done_callback(lane.running.discard)

    async def _handle(self, lane: _Lane, delivery: Delivery) -> None:
        loop, work = asyncio.get_running_loop(), asyncio.ensure_future(lane.handler(delivery))
        lost: list[str] = []

        def on_lost(status: str) -> None:
            lost.append(status)
            loop.call_soon_threadsafe(work.cancel)

        self._heartbeat.keep(delivery.token, delivery.lease_seconds, on_lost)
        try:
            verb, item = await _outcome(work)
        except asyncio.CancelledError:
            if not lost:
                work.cancel()
                await asyncio.wait({work})
                await self._close(delivery, "release", {"reason": "shutdown"})
                raise
            _log.warning("lease_lost", message=delivery.id, token=delivery.token, status=lost[0])
            return
        await self._close(delivery, verb, item)

    async def _close(self, delivery: Delivery, verb: str, item: dict[str, Any]) -> None:
        """End the lease, trying again while it lasts."""
        for pause in (*_RETRY_SECONDS, *([5.0] * 1000)):
            try:
                [answer] = await self._api.verb(verb, [{"token": delivery.token, **item}])
            except WorkerUnansweredError:
                if time.monotonic() + pause >= self._heartbeat.ends(delivery.token):
                    _log.warning("lease_left_to_expire", message=delivery.id, token=delivery.token)
                    break
                await asyncio.sleep(pause)
                continue
            except WorkerRefusedError as refused:
                await self._refused(delivery, verb, refused)
                break
            _log.info(verb, message=delivery.id, token=delivery.token, status=answer["status"])
            break
        self._heartbeat.drop(delivery.token)

    async def _refused(self, delivery: Delivery, verb: str, refused: WorkerRefusedError) -> None:
        _log.error("verb_refused", verb=verb, message=delivery.id, error=str(refused))
        if verb == "ack":
            with contextlib.suppress(WorkerUnansweredError, WorkerRefusedError):
                reason = f"result refused: {refused}"[:_MAX_REASON]
                await self._api.verb("release", [{"token": delivery.token, "reason": reason}])

    async def _give_back(self, deliveries: list[Delivery]) -> None:
        if deliveries:
            items = [{"token": delivery.token, "reason": "not_started"} for delivery in deliveries]
            with contextlib.suppress(WorkerUnansweredError, WorkerRefusedError):
                await self._api.verb("release", items)

    async def _drain(self, lane: _Lane) -> None:
        running = set(lane.running)
        if not running:
            return
        grace = self._grace if self._stop.is_set() else None
        _, late = await asyncio.wait(running, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)


async def _outcome(work: "asyncio.Future[object]") -> tuple[str, dict[str, Any]]:
    """The verb with which the lease ends, and its item."""
    try:
        return "ack", _acknowledgement(await work)
    except Release as release:
        item: dict[str, Any] = {"reason": release.reason[:_MAX_REASON]}
        return "release", item if release.retry_after is None else item | {"retry_after": release.retry_after}
    except Exception as fault:  # noqa: BLE001 - whatever a handler raises is its failure, not the worker's
        _log.warning("handler_failed", error=type(fault).__name__)
        return "release", {"reason": f"failed: {type(fault).__name__}"[:_MAX_REASON]}


def _acknowledgement(result: object) -> dict[str, Any]:
    usage = result.get("usage") if isinstance(result, dict) else None
    return {"result": result, "usage": usage} if isinstance(usage, dict) else {"result": result}
