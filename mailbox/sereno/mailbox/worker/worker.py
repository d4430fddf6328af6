"""The worker: claims for its agents, runs handlers, keeps leases, and ends without leaving work behind."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta

from sereno.mailbox.client import MailboxClient, MailboxError, MailboxUnansweredError
from sereno.mailbox.engine.logs import logger
from sereno.mailbox.worker.heartbeat import Heartbeat
from sereno.mailbox.worker.holding import RETRY_SECONDS
from sereno.mailbox.worker.lane import Handler, Lane, LaneSettings, expect_handler
from sereno.mailbox.worker.watch import Watch

CLAIM_WAIT = timedelta(seconds=2)
GRACE = timedelta(seconds=30)
MAX_CLAIM = 1000
_log = logger("worker")


class Worker:
    """Handlers by agent, over one HTTP API, in the token's tenant or the one named.

    A handler that returns acknowledges with its result; one that raises `Release`, `Reject`, `Park` or `Accepted`
    decides otherwise; any other exception gives the message back as failed. A lost lease cancels the handler.
    SIGTERM drains: nothing new is claimed, what has not started is released, what runs gets `grace`, then it is
    cancelled and released. `max_messages` ends the worker after so many; `once` when nothing is ready.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        tenant: str | None = None,
        grace: timedelta = GRACE,
        max_messages: int | None = None,
        once: bool = False,
    ) -> None:
        self._client = MailboxClient(url, token, tenant=tenant)
        self._heartbeat = Heartbeat(url, token)
        self._watch = Watch(self._client)
        self._grace = grace
        self._left = max_messages
        self._once = once
        self._lanes: list[Lane] = []
        self._stop = asyncio.Event()
        # Host and pid are for people; the random part tells two incarnations of one name apart.
        self.incarnation = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def agent(
        self, name: str, *, concurrency: int = 1, prefetch: int = 0, lease: timedelta | None = None
    ) -> Callable[[Handler], Handler]:
        """Decorate the handler of an agent's messages, of which at most `concurrency` run at once.

        `prefetch` more are claimed in the same round trip and wait here with their leases renewed. Raises
        ValueError or TypeError for an argument out of bounds, an agent that has a handler, and a handler that
        is not `async`.
        """
        settings = LaneSettings(name, concurrency, prefetch, lease)

        def register(handler: Handler) -> Handler:
            self.add(settings, handler)
            return handler

        return register

    def add(self, settings: LaneSettings, handler: Handler) -> None:
        """What the decorator does: serve one more agent. Raises ValueError or TypeError."""
        expect_handler(handler)
        if any(lane.settings.agent == settings.agent for lane in self._lanes):
            raise ValueError(f"agent: {settings.agent} has a handler already")
        lane = Lane(settings, handler, self._client, heartbeat=self._heartbeat, watch=self._watch)
        self._lanes.append(lane)

    def stop(self) -> None:
        """Begin to drain."""
        self._stop.set()

    async def run(self, *, handle_signals: bool = True) -> None:
        """Work until told to stop; SIGTERM and SIGINT do, unless the caller handles signals.

        Raises `MailboxRefusedError` when the API refuses this worker for good, and with `once` also
        `MailboxUnansweredError`.
        """
        self._heartbeat.start()
        watching = asyncio.create_task(self._watch.run())
        try:
            with self._signals() if handle_signals else contextlib.nullcontext():
                async with asyncio.TaskGroup() as group:
                    for lane in self._lanes:
                        group.create_task(self._serve(lane))
        except BaseExceptionGroup as failed:
            # Not `except*`: Python 3.11.2 wraps what is raised in it into a group again.
            ours, others = failed.split(MailboxError)
            if ours is None or others is not None:
                raise
            raise ours.exceptions[0] from None
        finally:
            watching.cancel()
            await asyncio.to_thread(self._heartbeat.close)
            await self._client.close()

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

    async def _serve(self, lane: Lane) -> None:
        try:
            await self._claim_until_done(lane)
        except BaseException:
            self._stop.set()
            raise
        finally:
            if self._stop.is_set():
                await lane.drain(self._grace.total_seconds())
            else:
                await self._finish(lane)

    async def _finish(self, lane: Lane) -> None:
        """Everything claimed was meant to be worked on: let it run to its end, unless a stop comes."""
        while lane.busy and not self._stop.is_set():
            await lane.changes(self._stop)
        await lane.drain(self._grace.total_seconds())

    async def _claim_until_done(self, lane: Lane) -> None:
        failures = 0
        while not self._stop.is_set() and self._left != 0:
            room = min(lane.room, MAX_CLAIM, lane.room if self._left is None else self._left)
            if room <= 0:
                await lane.changes(self._stop)
                continue
            try:
                some = await self._claim(lane, room)
            except MailboxUnansweredError as fault:
                if self._once:
                    raise
                _log.warning("claim_failed", agent=lane.settings.agent, error=str(fault))
                await self._pause(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                failures += 1
                continue
            failures = 0
            if self._once and not some:
                break

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def _claim(self, lane: Lane, room: int) -> bool:
        """Claim and start what came; whether anything did."""
        messages = await self._client.claim(
            lane.settings.agent,
            max=room,
            lease=lane.settings.lease,
            wait=timedelta(0) if self._once else CLAIM_WAIT,
            incarnation=self.incarnation,
        )
        if self._stop.is_set():
            await lane.give_back(messages)
            return False
        if self._left is not None:
            # Another lane may have claimed meanwhile what was left for both.
            await lane.give_back(messages[self._left :])
            messages = messages[: self._left]
            self._left -= len(messages)
        lane.take(messages)
        return bool(messages)
