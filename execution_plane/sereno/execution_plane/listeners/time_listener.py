"""The time listener: the schedules of the catalog, each instant emitted once whoever looks."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.listeners import schedules
from sereno.execution_plane.listeners.derivation import derive
from sereno.execution_plane.listeners.schedule import Advance, Schedule, advance
from sereno.execution_plane.listeners.signal import of_instant
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, faults, outbox
from sereno.mailbox.engine.telemetry import counter, histogram, logger

CLAIM = 500
"""Schedules claimed in one transaction."""
MAX_INSTANTS = 20_000
"""How many instants one transaction emits or counts; what was claimed beyond them waits for the next."""
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
        self._rules = schedules.Rules()
        self._derived: dict[str, schedules.Stamp] = {}

    async def observe(self, now: datetime) -> int:
        """See `Listener.observe`."""
        await self._derive_changed(now)
        await schedules.release(self._pool)
        async with self._pool.acquire() as connection, connection.transaction():
            due = await schedules.claim_due(connection, self._rules, now, CLAIM)
            if not due:
                return 0
            steps = _advance(due, now)
            await schedules.advance(connection, steps)
            fresh = await schedules.emit(connection, self._signals(steps, now), now)
            await outbox.append(connection, "execution", _outgoing(fresh))
            faults.point("listener.before_commit")
        faults.point("listener.after_commit")
        _count(fresh)
        _report(steps, now)
        return len(steps)

    async def _derive_changed(self, now: datetime) -> None:
        stamps = await schedules.manifests(self._pool)
        for tenant, stamp in stamps.items():
            if self._derived.get(tenant) != stamp:
                async with self._pool.acquire() as connection, connection.transaction():
                    await derive(connection, tenant, now)
                self._derived[tenant] = stamp

    def _signals(self, steps: list[Advance], now: datetime) -> list[tuple[Schedule, datetime, Envelope]]:
        return [
            (step.schedule, instant, of_instant(step.schedule, instant, self._receiptid(now), now))
            for step in steps
            for instant in step.emit
        ]

    def _receiptid(self, now: datetime) -> str:
        return str(uuid7(int(now.timestamp() * 1000), self._randomness(RANDOM_BYTES)))


def _count(envelopes: list[Envelope]) -> None:
    for tenant, group in schedules.by_tenant(envelopes).items():
        _written.add(len(group), {"tenant": tenant, "family": TimeListener.family})


def _advance(due: list[Schedule], now: datetime) -> list[Advance]:
    steps, left = [], MAX_INSTANTS
    for schedule in due:
        if left <= 0:
            break
        step = advance(schedule, now)
        steps.append(step)
        reckoned = schedule.source.every is not None or step.skipped is None
        left -= len(step.emit) + (0 if reckoned or step.skipped is None else step.skipped.count)
    return steps


def _report(steps: list[Advance], now: datetime) -> None:
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


def _outgoing(envelopes: list[Envelope]) -> list[outbox.Outgoing]:
    return [
        outbox.Outgoing(bus.ingress_subject(tenant), tenant, dumps_batch(group[start : start + _PER_MESSAGE]))
        for tenant, group in schedules.by_tenant(envelopes).items()
        for start in range(0, len(group), _PER_MESSAGE)
    ]
