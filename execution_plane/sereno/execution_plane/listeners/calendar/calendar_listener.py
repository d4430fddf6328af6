"""The calendar listener: what is due around the entries of calendars, each occurrence emitted once whoever looks."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.listeners.calendar import calendars
from sereno.execution_plane.listeners.calendar.followed import Due, Followed
from sereno.execution_plane.listeners.calendar.plan import settle
from sereno.execution_plane.listeners.calendar.signal import of_occurrence
from sereno.execution_plane.listeners.schedules import by_tenant
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import bus, faults, outbox
from sereno.mailbox.engine.telemetry import counter, histogram

CLAIM = 50
"""Calendars claimed in one transaction."""
_PER_MESSAGE = 200
_lateness = histogram("sereno.schedule.lateness")
_written = counter("sereno.ingress.events")


class CalendarListener:
    """Writes a signal for every occurrence whose time has come; a watcher keeps what is to come up to date."""

    family: ClassVar[str] = "calendar"

    def __init__(self, pool: AnyPool, randomness: Callable[[int], bytes]) -> None:
        self._pool = pool
        self._randomness = randomness

    async def observe(self, now: datetime) -> int:
        """See `Listener.observe`."""
        async with self._pool.acquire() as connection, connection.transaction():
            followed = await calendars.claim_due(connection, now, CLAIM)
            if not followed:
                return 0
            signals = [each for one in followed for each in await self._settle(connection, one, now)]
            await outbox.append(connection, "execution", _outgoing(signals))
            faults.point("listener.before_commit")
        faults.point("listener.after_commit")
        for tenant, group in by_tenant(signals).items():
            _written.add(len(group), {"tenant": tenant, "family": self.family})
        for signal in signals:
            if signal.time is not None:
                _lateness.record((now - signal.time).total_seconds())
        return len(followed)

    async def _settle(self, connection: AnyConnection, followed: Followed, now: datetime) -> list[Envelope]:
        due = await calendars.due(connection, followed, now)
        settled = settle([each.occurrence for each in due], followed.misfire, now, paused=followed.paused)
        by_key = {each.occurrence.key: each for each in due}
        signals = [self._signal(by_key[one.key], now) for one in settled.emit]
        await calendars.remove(connection, followed, settled.left_out, "skipped")
        receipts = [signal.receiptid for signal in signals]
        await calendars.emit(connection, followed, list(zip(settled.emit, receipts, strict=True)), now)
        await calendars.point(connection, followed)
        return signals

    def _signal(self, due: Due, now: datetime) -> Envelope:
        receiptid = str(uuid7(int(now.timestamp() * 1000), self._randomness(RANDOM_BYTES)))
        return of_occurrence(due, receiptid, now)


def _outgoing(envelopes: list[Envelope]) -> list[outbox.Outgoing]:
    return [
        outbox.Outgoing(bus.ingress_subject(tenant), tenant, dumps_batch(group[start : start + _PER_MESSAGE]))
        for tenant, group in by_tenant(envelopes).items()
        for start in range(0, len(group), _PER_MESSAGE)
    ]
