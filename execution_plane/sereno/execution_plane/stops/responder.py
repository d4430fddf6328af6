"""Answers the control plane's orders about stops over NATS; any process of the data path may."""

import asyncio

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from sereno.execution_plane.stops.carrying_out import carry_out
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.bus import STOP_SUBJECT
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.stop_orders import StopAnswer, read
from sereno.mailbox.wake import Wake

_QUEUE = "stop"
_log = logger("stops")


class Responder:
    """One subscription in a queue group: an order is answered by one of all that listen."""

    def __init__(self, pool: AnyPool, nats: Client, wake: Wake) -> None:
        self._pool = pool
        self._nats = nats
        self._wake = wake

    async def run(self, stopping: asyncio.Event) -> None:
        """Answer until told to stop."""
        subscription = await self._nats.subscribe(STOP_SUBJECT, queue=_QUEUE, cb=self._heard)
        await stopping.wait()
        if self._nats.is_connected:
            await subscription.unsubscribe()

    async def _heard(self, message: Msg) -> None:
        try:
            answer = await carry_out(self._pool, self._wake, read(message.data))
        except ValueError as fault:
            answer = StopAnswer(refusal=f"the order cannot be read: {fault}")
        except DATABASE_FAULTS as fault:
            # Without an answer the stop counts as not confirmed, which is the truth.
            _log.error("stop_not_carried_out", error=type(fault).__name__)
            return
        try:
            await message.respond(answer.model_dump_json().encode())
        except NatsError as fault:
            _log.warning("stop_answer_not_sent", error=type(fault).__name__)
