"""The time listener: one-shots and intervals of the catalog, each instant emitted once whoever looks."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.listeners import schedules
from sereno.execution_plane.listeners.schedule import Advance, Schedule, advance, of_object, reconcile
from sereno.execution_plane.listeners.signal import of_instant
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, outbox
from sereno.mailbox.engine.telemetry import counter, histogram, logger
from sereno.subscriptions.snapshot import CatalogObject

CLAIM = 100
"""Schedules claimed in one transaction."""
_PER_MESSAGE = 500
_lateness = histogram("sereno.schedule.lateness")
_written = counter("sereno.ingress.events")
_log = logger("time")


class TimeListener:
    """Derives schedules from the catalog and writes a signal for every instant that is due."""

    family: ClassVar[str] = "time"

    def __init__(self, pool: AnyPool, randomness: Callable[[int], bytes]) -> None:
        self._pool = pool
        self._randomness = randomness
        self._derived: dict[str, schedules.Stamp] = {}

    async def observe(self, now: datetime) -> int:
        """See `Listener.observe`."""
        await self._derive_changed()
        async with self._pool.acquire() as connection, connection.transaction():
            due = await schedules.claim_due(connection, now, CLAIM)
            if not due:
                return 0
            steps = [advance(schedule, now) for schedule in due]
            await schedules.advance(connection, steps)
            fresh = await schedules.emit(connection, self._signals(steps, now), now)
            await outbox.append(connection, "execution", _outgoing(fresh))
        _written.add(len(fresh), {"family": self.family})
        self._report(steps, now)
        return len(due)

    async def _derive_changed(self) -> None:
        stamps = await schedules.manifests(self._pool)
        for tenant, stamp in stamps.items():
            if self._derived.get(tenant) != stamp:
                await self._derive(tenant)
                self._derived[tenant] = stamp

    async def _derive(self, tenant: str) -> None:
        """Bring the tenant's schedules in line with what is declared now; what is not declared any more goes."""
        async with self._pool.acquire() as connection, connection.transaction():
            found = [_of_object(item) for item in await schedules.declared(connection, tenant)]
            before = await schedules.of_tenant(connection, tenant)
            wanted = [reconcile(before.get(one.id), one) for one in found if one is not None]
            await schedules.put(connection, tenant, wanted)

    def _signals(self, steps: list[Advance], now: datetime) -> list[tuple[Schedule, datetime, Envelope]]:
        return [
            (step.schedule, instant, of_instant(step.schedule, instant, self._receiptid(now), now))
            for step in steps
            for instant in step.emit
        ]

    def _receiptid(self, now: datetime) -> str:
        return str(uuid7(int(now.timestamp() * 1000), self._randomness(RANDOM_BYTES)))

    def _report(self, steps: list[Advance], now: datetime) -> None:
        for step in steps:
            for instant in step.emit:
                _lateness.record((now - instant).total_seconds())
            if step.skipped is not None:
                _log.info(
                    "instants_skipped",
                    tenant=step.schedule.tenant,
                    subscription=step.schedule.subscription,
                    count=step.skipped.count,
                    reason=step.skipped.reason,
                )


def _of_object(item: CatalogObject) -> Schedule | None:
    try:
        return of_object(item)
    except ValueError as fault:
        # A rule of a newer control plane must not stop the schedules that are understood.
        _log.error("schedule_not_usable", tenant=item.tenant, subscription=item.name, error=str(fault))
        return None


def _outgoing(envelopes: list[Envelope]) -> list[outbox.Outgoing]:
    return [
        outbox.Outgoing(bus.ingress_subject(tenant), tenant, dumps_batch(group[start : start + _PER_MESSAGE]))
        for tenant, group in schedules.by_tenant(envelopes).items()
        for start in range(0, len(group), _PER_MESSAGE)
    ]
