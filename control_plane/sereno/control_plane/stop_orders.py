"""Orders about stops on their way to the data path, and the keeper that repeats those that nobody confirmed."""

import asyncio
import contextlib

from nats.aio.client import Client
from nats.errors import Error as NatsError

from sereno.mailbox.engine.bus import STOP_SUBJECT
from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.stop_orders import Order, StopAnswer

# Longer than the barrier of a stop takes at the most.
ANSWER_SECONDS = 8.0
_log = logger("stops")


class Orders:
    """Asks whoever of the data path listens; without NATS nobody is asked and nothing is confirmed."""

    def __init__(self, nats: Client | None = None) -> None:
        self._nats = nats
        self.unconfirmed = asyncio.Event()
        """Set when a stop was recorded that nobody confirmed."""

    async def send(self, order: Order) -> StopAnswer | None:
        """The answer, or None when nobody gave one in time."""
        if self._nats is None or not self._nats.is_connected:
            return None
        try:
            reply = await self._nats.request(
                STOP_SUBJECT, order.model_dump_json().encode(), timeout=ANSWER_SECONDS
            )
            return StopAnswer.model_validate_json(reply.data)
        except (NatsError, TimeoutError, OSError, ValueError) as fault:
            _log.error("stop_not_confirmed", verb=order.verb, error=type(fault).__name__)
            return None


async def either(first: asyncio.Event, second: asyncio.Event) -> None:
    """Wait until one of both is set."""
    waits = [asyncio.create_task(event.wait()) for event in (first, second)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await wait
