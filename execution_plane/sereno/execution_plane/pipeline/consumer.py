"""The consumer: pulls batches from the ingress stream and acknowledges each after its decisions are committed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import asyncpg
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.pipeline import answers, meters, quarantine
from sereno.execution_plane.pipeline.arrival import Arrival, Payload, Unreadable, read
from sereno.execution_plane.pipeline.delivery import Delivered, deliver
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.filtered import Filtered
from sereno.mailbox.engine import faults
from sereno.mailbox.engine.bus import INGRESS
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger, tracer
from sereno.mailbox.wake import Wake, mailboxes

DURABLE = "pipeline"
FETCH_MESSAGES = 4
# How long the events of a killed replica wait for another; a working one says so three times as often.
ACK_WAIT_SECONDS = 15.0
MAX_ACK_PENDING = 64
# Also how long a stop waits for an idle fetch: one that is cancelled would keep what it had been sent for that long.
_FETCH_SECONDS = 0.25
_RETRY_SECONDS = 0.5
_IN_PROGRESS_SECONDS = 5.0
_AT_A_TIME = 50
_log = logger("pipeline")


class _Fetched(NamedTuple):
    """Messages of the stream, and what they hold."""

    messages: Sequence[Msg]
    arrivals: Sequence[Arrival]
    unreadable: Sequence[Unreadable]


class Consumer:
    """One replica of the pipeline. Several may run: the durable shares the stream, row locks order the decisions."""

    def __init__(
        self,
        pool: "asyncpg.Pool[asyncpg.Record]",
        nats: Client,
        catalog: Catalog,
        *,
        directory: Directory | None = None,
        ack_wait_seconds: float = ACK_WAIT_SECONDS,
    ) -> None:
        self._pool = pool
        self._ack_wait = ack_wait_seconds
        self._jetstream = nats.jetstream()
        self._wake = Wake(nats)
        self._catalog = catalog
        self._directory = directory or Directory(catalog)
        self._filtered = Filtered()

    async def run(self, stop: asyncio.Event) -> None:
        """Consume until `stop` is set; while an engine is away nothing is acknowledged and it is tried again."""
        while not stop.is_set():
            try:
                async with self._subscribed() as subscription:
                    await self._settle_all(subscription, stop)
            except (*DATABASE_FAULTS, NatsError) as fault:
                _log.warning("pipeline_retry", error=f"{type(fault).__name__}: {fault}")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _RETRY_SECONDS)

    @contextlib.asynccontextmanager
    async def _subscribed(self) -> AsyncIterator[JetStreamContext.PullSubscription]:
        config = ConsumerConfig(
            durable_name=DURABLE,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=self._ack_wait,
            max_ack_pending=MAX_ACK_PENDING,
            max_deliver=-1,
        )
        await self._jetstream.add_consumer(INGRESS, config)
        subscription = await self._jetstream.pull_subscribe_bind(consumer=DURABLE, stream=INGRESS)
        try:
            yield subscription
        finally:
            with contextlib.suppress(NatsError):
                await subscription.unsubscribe()

    async def _settle_all(self, subscription: JetStreamContext.PullSubscription, stop: asyncio.Event) -> None:
        """Settle one fetch after the other; while one is in the database the next is read."""
        coming = asyncio.create_task(self._fetch(subscription))
        try:
            while not stop.is_set():
                fetched = await coming
                coming = asyncio.create_task(self._fetch(subscription))
                if fetched is not None:
                    await self._settle_or_give_back(fetched)
                await self._filtered.write_in_turn(self._pool)
            await self._filtered.write(self._pool)
        finally:
            left = await _ended(coming)
            if left is not None:
                await _give_back(left.messages)

    async def _fetch(self, subscription: JetStreamContext.PullSubscription) -> "_Fetched | None":
        try:
            messages = await subscription.fetch(FETCH_MESSAGES, timeout=_FETCH_SECONDS)
        except (NatsTimeoutError, TimeoutError):
            return None
        try:
            # The gateway may have accepted an event under a manifest that it stored a moment ago.
            await self._catalog.refresh(self._pool)
            return await self._read(messages)
        except BaseException:
            await _give_back(messages)
            raise

    async def _settle_or_give_back(self, fetched: "_Fetched") -> None:
        try:
            async with _in_progress(fetched.messages):
                await self._settle(*fetched)
        except BaseException:
            # Nothing of them is lost: what was committed is recognised when it comes again.
            await _give_back(fetched.messages)
            raise

    async def _settle(
        self, messages: Sequence[Msg], arrivals: Sequence[Arrival], unreadable: Sequence[Unreadable]
    ) -> None:
        started = asyncio.get_running_loop().time()
        with tracer().start_as_current_span("pipeline.batch"):
            delivered = await self._deliver(arrivals)
            await self._put_away(unreadable)
            # Before the acknowledgement: an answer that is lost would leave its message parked for good.
            answered = await answers.resume(self._pool, (arrival.envelope for arrival in arrivals))
        faults.point("pipeline.after_commit")
        for message in messages:
            await message.ack()
        faults.point("pipeline.after_ack")
        await self._wake.publish(mailboxes(m for part in delivered for m in part.messages) | answered)
        seconds = asyncio.get_running_loop().time() - started
        decided = [item for part in delivered for item in part.decided]
        meters.settled(decided, seconds)
        meters.deposited(message for part in delivered for message in part.messages)
        self._filtered.count(decided, self._directory.index)

    async def _read(self, messages: Sequence[Msg]) -> "_Fetched":
        arrivals: list[Arrival] = []
        unreadable: list[Unreadable] = []
        for message in messages:
            tenant = message.subject.rpartition(".")[2]
            payload = Payload(tenant, message.metadata.sequence.stream, message.data)
            for place, item in enumerate(read(payload, self._directory.index)):
                if isinstance(item, Arrival):
                    arrivals.append(item)
                else:
                    unreadable.append(item)
                if place % _AT_A_TIME == 0:
                    # So that the fetch before it goes on with what the database answered.
                    await asyncio.sleep(0)
        return _Fetched(messages, arrivals, unreadable)

    async def _deliver(self, arrivals: Sequence[Arrival]) -> list[Delivered]:
        """Deliver in one transaction; when the data of one event is at fault, in as few as set it apart."""
        if not arrivals:
            return []
        try:
            async with self._pool.acquire() as conn, conn.transaction():
                return [await deliver(conn, arrivals, self._directory.policy_valid_until())]
        except Exception as fault:
            if not quarantine.is_fault_of_data(fault):
                raise
            if len(arrivals) == 1:
                await self._quarantine(arrivals[0], fault)
                return []
        middle = len(arrivals) // 2
        return await self._deliver(arrivals[:middle]) + await self._deliver(arrivals[middle:])

    async def _quarantine(self, arrival: Arrival, fault: Exception) -> None:
        _log.error("event_undecidable", receipt=arrival.envelope.receiptid, error=type(fault).__name__)
        unreadable = quarantine.unreadable(arrival, fault)
        try:
            async with self._pool.acquire() as conn, conn.transaction():
                await quarantine.put_away(conn, arrival, unreadable)
        except Exception as again:
            if not quarantine.is_fault_of_data(again):
                raise
            await self._put_away([unreadable])

    async def _put_away(self, unreadable: Sequence[Unreadable]) -> None:
        for item in unreadable:
            _log.error("event_unreadable", tenant=item.tenant, sequence=item.sequence, error=item.error)
        if unreadable:
            async with self._pool.acquire() as conn, conn.transaction():
                await quarantine.keep(conn, unreadable)


@contextlib.asynccontextmanager
async def _in_progress(messages: Sequence[Msg]) -> AsyncIterator[None]:
    """Tells the stream again and again, while the body runs, that these are being worked on."""

    async def tell() -> None:
        while True:
            await asyncio.sleep(_IN_PROGRESS_SECONDS)
            for message in messages:
                await message.in_progress()

    task = asyncio.create_task(tell())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, NatsError):
            await task


async def _ended(coming: "asyncio.Task[_Fetched | None]") -> _Fetched | None:
    """What a fetch that nobody waits for any more brought after all."""
    coming.cancel()
    await asyncio.wait([coming])
    return None if coming.cancelled() or coming.exception() is not None else coming.result()


async def _give_back(messages: Sequence[Msg]) -> None:
    """Let the stream hand these out again at once instead of after the whole waiting time."""
    for message in messages:
        with contextlib.suppress(NatsError):
            await message.nak()
