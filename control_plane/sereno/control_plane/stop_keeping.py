"""The keeper of stops: what is recorded as stopped stands in the data path, also after either plane was away."""

import asyncio

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane import stopping
from sereno.control_plane.stop_orders import Orders, either
from sereno.control_plane.waiting import pause
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

_AGAIN_SECONDS = 2.0
_log = logger("stops")


class StopKeeper:
    """Looks at the start and whenever a stop was not confirmed, until all are; idle otherwise."""

    def __init__(self, engine: AsyncEngine, orders: Orders) -> None:
        self._engine = engine
        self._orders = orders

    async def run(self, stop: asyncio.Event) -> None:
        """Keep until `stop` is set."""
        self._orders.unconfirmed.set()
        while not stop.is_set():
            await either(self._orders.unconfirmed, stop)
            if not stop.is_set() and await self.look():
                self._orders.unconfirmed.clear()
            else:
                await pause(stop, _AGAIN_SECONDS)

    async def look(self) -> bool:
        """Order again what does not stand; whether all of it does."""
        try:
            async with self._engine.connect() as connection:
                recorded = await stopping.standing(connection)
        except (*DATABASE_FAULTS, SQLAlchemyError) as fault:
            _log.warning("stops_retry", error=type(fault).__name__)
            return False
        if not recorded:
            return True
        answer = await stopping.status(self._orders)
        if answer is None:
            return False
        engaged = {one.scope for one in answer.stops if one.state == "engaged"}
        missing = [one for one in recorded if one.scope not in engaged]
        answers = [await self._orders.send(stopping.order_of(one)) for one in missing]
        return None not in answers
