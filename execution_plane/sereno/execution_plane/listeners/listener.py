"""The one protocol that every listener keeps, and the loop that gives listeners their turns."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import ClassVar, Protocol

from nats.errors import Error as NatsError

from sereno.mailbox.engine.idling import Idling
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

TURN_SECONDS = (0.05, 0.25)
"""Between the turns of listeners that have nothing to say: from, and up to."""
AWAY = (*DATABASE_FAULTS, NatsError)
"""An engine is away: the next turn looks again."""
_log = logger("listeners")

Clock = Callable[[], Awaitable[datetime]]
"""The time by which instants are due: the database's, so that all replicas agree."""


class Listener(Protocol):
    """Observes one kind of source. Any number of replicas may observe at once: each signal is written once."""

    family: ClassVar[str]

    async def observe(self, now: datetime) -> int:
        """Look once; write every signal that is due, durably, before returning how many there were.

        May raise when an engine is away: nothing is then half-written, and the next turn looks again.
        """
        ...


async def listen(
    listeners: Sequence[Listener],
    clock: Clock,
    stop: asyncio.Event,
    turn_seconds: tuple[float, float] = TURN_SECONDS,
) -> None:
    """Give each listener its turns until `stop`; one that fails is logged and the others go on."""
    idle = Idling(*turn_seconds)
    while not stop.is_set():
        busy = False
        for listener in listeners:
            try:
                busy = await listener.observe(await clock()) > 0 or busy
            except AWAY as fault:
                _log.warning("listener_retry", family=listener.family, error=type(fault).__name__)
        if busy:
            idle.worked()
        else:
            await idle.pause(stop)
