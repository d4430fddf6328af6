"""Group commit: concurrent arrivals of one tenant become one JetStream message, written once, answered together.

One publish and one fsync serve up to 500 events. A publish that fails, or whose acknowledgement is lost, fails all
of them with `NotStoredError`; what was stored all the same is absorbed by the dedup key when the sender tries again.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from nats.aio.client import Client
from nats.errors import Error as NatsError

from sereno.mailbox.engine import bus
from sereno.mailbox.engine.telemetry import histogram

MAX_EVENTS = 500
MAX_BYTES = 512 * 1024
MAX_WAIT_SECONDS = 0.003
MAX_PENDING_EVENTS = 20_000
# The server writes one message after the other. While two of a tenant are on their way, more of them would only wait
# there; gathered here they become one, so that a slow disk makes larger messages instead of more.
MAX_WRITING = 2
# Senders give up after 3 to 10 seconds; the answer must come before.
PUBLISH_TIMEOUT_SECONDS = 2.5

Publish = Callable[[str, bytes], Awaitable[None]]
"""Makes one payload of a tenant durable; raises `NotStoredError` when that is not certain."""

_batch_size = histogram("sereno.ingress.batch_size")


class NotStoredError(Exception):
    """The events are not certainly on disk; the sender has to try again."""


@dataclass(slots=True, eq=False)
class _Batch:
    tenant: str
    timer: asyncio.TimerHandle | None = None
    items: list[bytes] = field(default_factory=list)
    size: int = 0
    due: bool = False
    waiters: list[asyncio.Future[None]] = field(default_factory=list)
    """One a request, so that a sender that hangs up cancels its own and no other."""

    def has_room(self, item: bytes) -> bool:
        return not self.items or (len(self.items) < MAX_EVENTS and self.size + len(item) < MAX_BYTES)

    def add(self, item: bytes) -> None:
        self.items.append(item)
        self.size += len(item) + 1

    def payload(self) -> bytes:
        return b"[" + b",".join(self.items) + b"]"

    def settle(self, fault: NotStoredError | None) -> None:
        for waiter in self.waiters:
            if waiter.done():
                continue
            if fault is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(fault)


class GroupCommit:
    """Gathers encoded envelopes per tenant and publishes them as CloudEvents batches."""

    def __init__(self, publish: Publish, *, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._publish = publish
        self._max_wait = max_wait_seconds
        self._open: dict[str, _Batch] = {}
        self._writing: set[asyncio.Task[None]] = set()
        self._writing_of: Counter[str] = Counter()
        self._pending = 0
        self._closed = False

    def store(self, tenant: str, items: Sequence[bytes]) -> Awaitable[object]:
        """Done once every item is on disk. Raises `NotStoredError` when one of them may not be."""
        if self._closed:
            raise NotStoredError("the gateway is stopping")
        if self._pending + len(items) > MAX_PENDING_EVENTS:
            raise NotStoredError("too many events wait to be written")
        if len(items) == 1:
            return self._append(tenant, items[0])
        return asyncio.gather(*[self._append(tenant, item) for item in items])

    async def close(self) -> None:
        """Accept nothing more, write what was gathered, and wait until it is answered."""
        self._closed = True
        for batch in list(self._open.values()):
            self._flush(batch)
        while self._writing:
            await asyncio.gather(*self._writing)

    def _append(self, tenant: str, item: bytes) -> asyncio.Future[None]:
        batch = self._open.get(tenant)
        if batch is not None and not batch.has_room(item):
            self._flush(batch)
            batch = None
        if batch is None:
            batch = self._begin(tenant)
        batch.add(item)
        waiter = asyncio.get_running_loop().create_future()
        batch.waiters.append(waiter)
        self._pending += 1
        if len(batch.items) >= MAX_EVENTS:
            self._flush(batch)
        return waiter

    def _begin(self, tenant: str) -> _Batch:
        loop = asyncio.get_running_loop()
        batch = _Batch(tenant)
        batch.timer = loop.call_later(self._max_wait, self._due, batch)
        self._open[tenant] = batch
        return batch

    def _due(self, batch: _Batch) -> None:
        """Its time is over: it goes now, or with the first write that ends."""
        batch.due = True
        if self._writing_of[batch.tenant] < MAX_WRITING:
            self._flush(batch)

    def _flush(self, batch: _Batch) -> None:
        if self._open.get(batch.tenant) is not batch:
            return
        del self._open[batch.tenant]
        if batch.timer is not None:
            batch.timer.cancel()
        self._writing_of[batch.tenant] += 1
        task = asyncio.get_running_loop().create_task(self._write(batch))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, batch: _Batch) -> None:
        try:
            await self._publish(batch.tenant, batch.payload())
        except Exception as fault:  # noqa: BLE001 - whatever went wrong, every waiter must be told
            batch.settle(_not_stored(fault))
        else:
            _batch_size.record(len(batch.items))
            batch.settle(None)
        finally:
            self._pending -= len(batch.items)
            self._written(batch.tenant)

    def _written(self, tenant: str) -> None:
        self._writing_of[tenant] -= 1
        if not self._writing_of[tenant]:
            del self._writing_of[tenant]
        waiting = self._open.get(tenant)
        if waiting is not None and waiting.due:
            self._due(waiting)


def _not_stored(fault: Exception) -> NotStoredError:
    return fault if isinstance(fault, NotStoredError) else NotStoredError(str(fault) or type(fault).__name__)


class IngressPublisher:
    """Publishes a payload to the ingress stream and waits for the acknowledgement, which comes after the fsync."""

    def __init__(self, nats: Client) -> None:
        self._nats = nats
        self._jetstream = nats.jetstream(timeout=PUBLISH_TIMEOUT_SECONDS)

    async def __call__(self, tenant: str, payload: bytes) -> None:
        """See `Publish`."""
        if not self._nats.is_connected:
            raise NotStoredError("the ingress is not reachable")
        try:
            await self._jetstream.publish(
                bus.ingress_subject(tenant), payload, timeout=PUBLISH_TIMEOUT_SECONDS, stream=bus.INGRESS
            )
        except (NatsError, OSError, TimeoutError) as fault:
            raise NotStoredError(f"the ingress did not confirm: {type(fault).__name__}") from fault
