"""The consumer of the REPORTS stream: fetch a batch, fold it in one transaction, then acknowledge."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.reports.inbox import Position, forget, receive
from sereno.control_plane.waiting import pause
from sereno.mailbox.audit.keys import Trusted
from sereno.mailbox.engine import faults
from sereno.mailbox.engine.bus import REPORTS
from sereno.mailbox.engine.outbox import POSITION_HEADER
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.report import Report, loads

DURABLE = "control"
_BATCH = 200
_WAIT_SECONDS = 1.0
_FORGET_EVERY_SECONDS = 3600.0


class ReportConsumer:
    """Folds reports until stopped; engines that are away are waited for."""

    def __init__(self, engine: AsyncEngine, nats: Client, audit_keys: Trusted | None = None) -> None:
        self._engine = engine
        self._audit_keys = audit_keys or {}
        self._nats = nats
        self._log = logger("reports")
        self._forget_at = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Consume until `stop` is set."""
        while not stop.is_set():
            try:
                subscription = await self.subscribe()
                while not stop.is_set():
                    await self.take(subscription)
                    await self._forget_in_time()
            except (*DATABASE_FAULTS, NatsError, SQLAlchemyError) as fault:
                self._log.warning("reports_retry", error=type(fault).__name__)
                await pause(stop, 0.5)

    async def subscribe(self) -> JetStreamContext.PullSubscription:
        """The durable consumer, made at the first time."""
        config = ConsumerConfig(
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=30,
            max_ack_pending=4 * _BATCH,
            filter_subject="sereno.reports.>",
        )
        return await self._nats.jetstream().pull_subscribe(
            "sereno.reports.>", durable=DURABLE, stream=REPORTS, config=config
        )

    async def take(self, subscription: JetStreamContext.PullSubscription) -> int:
        """Fold one batch, waiting at most a second for it; how many reports were new."""
        try:
            messages = await subscription.fetch(_BATCH, timeout=_WAIT_SECONDS)
        except (NatsTimeoutError, TimeoutError):
            return 0
        reports = dict(self._readable(messages))
        async with self._engine.begin() as connection:
            fresh = await receive(connection, reports, self._audit_keys)
        faults.point("reports.after_commit")
        await asyncio.gather(*(message.ack() for message in messages))
        return fresh

    def _readable(self, messages: list[Msg]) -> Iterator[tuple[Position, Report]]:
        for message in messages:
            try:
                yield Position.parse((message.headers or {})[POSITION_HEADER]), loads(message.data)
            except (KeyError, ValueError) as fault:
                # It can never be read: acknowledging it with the others keeps the stream moving.
                sequence = message.metadata.sequence.stream
                self._log.error("report_unreadable", sequence=sequence, error=type(fault).__name__)

    async def _forget_in_time(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._forget_at:
            async with self._engine.begin() as connection:
                await forget(connection, datetime.now(UTC))
            self._forget_at = loop.time() + _FORGET_EVERY_SECONDS
