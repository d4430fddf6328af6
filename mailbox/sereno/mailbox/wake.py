"""Wake-ups: hints over NATS, without data, that a mailbox has something ready; never needed for correctness."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from sereno.mailbox.engine.bus import wake_subject
from sereno.mailbox.engine.logs import logger
from sereno.mailbox.message import Message

Box = tuple[str, str]
"""A mailbox: tenant and agent."""

_log = logger("wake")


def mailboxes(messages: Iterable[Message]) -> set[Box]:
    """The mailboxes into which these messages go; each gets one hint, however many messages there are."""
    return {(message.tenant, message.agent) for message in messages}


class Wake:
    """Sends hints after a commit, and lets claims of this process wait for them on one subscription."""

    def __init__(self, nats: Client | None) -> None:
        self._nats = nats
        self._waiting: dict[str, set[asyncio.Event]] = {}

    async def start(self) -> None:
        """Listen to the hints of every mailbox; a process that only deposits need not."""
        if self._nats is not None:
            await self._nats.subscribe("sereno.wake.>", cb=self._heard)

    async def publish(self, boxes: Iterable[Box]) -> None:
        """One hint a mailbox. A bus that is away costs the workers a poll interval and nothing else."""
        for tenant, agent in boxes:
            subject = wake_subject(tenant, agent)
            self._ring(subject)
            if self._nats is None:
                continue
            try:
                await self._nats.publish(subject)
            except (NatsError, OSError) as fault:
                _log.warning("hint_not_sent", subject=subject, error=type(fault).__name__)

    @asynccontextmanager
    async def listen(self, tenant: str, agent: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever this mailbox is hinted at; registered before the caller looks."""
        subject, heard = wake_subject(tenant, agent), asyncio.Event()
        waiting = self._waiting.setdefault(subject, set())
        waiting.add(heard)
        try:
            yield heard
        finally:
            waiting.discard(heard)
            if not waiting:
                self._waiting.pop(subject, None)

    async def _heard(self, message: Msg) -> None:
        self._ring(message.subject)

    def _ring(self, subject: str) -> None:
        for event in self._waiting.get(subject, ()):
            event.set()
