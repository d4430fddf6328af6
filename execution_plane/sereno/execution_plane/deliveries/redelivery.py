"""Delivering again: the stored event as a new receipt that says whose repetition it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sereno.envelope.decode import loads_envelope
from sereno.envelope.encode import dumps
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane import outside
from sereno.execution_plane.deliveries.delivery import Delivery
from sereno.execution_plane.deliveries.log import SQL, DeliveryLog
from sereno.execution_plane.gateway.group_commit import GroupCommit
from sereno.mailbox.connection import AnyPool


@dataclass(frozen=True, slots=True)
class Redelivered:
    """The new receipts, each with the one that it repeats."""

    tenant: str
    receipts: tuple[tuple[str, str], ...]


class Redelivery:
    """Sends stored events into the ingress once more; event id and dedup key stay, so guard 1 knows them again."""

    def __init__(
        self,
        pool: AnyPool,
        commit: GroupCommit,
        log: DeliveryLog,
        randomness: Callable[[int], bytes],
        clock: Callable[[], datetime],
    ) -> None:
        self._pool = pool
        self._commit = commit
        self._log = log
        self._randomness = randomness
        self._clock = clock

    async def tenant_of(self, tenants: Sequence[str], number: UUID) -> str | None:
        """Whose delivery or receipt this is; None where it is not known among these tenants."""
        row = await self._pool.fetchrow(SQL["receipts_of_delivery"], list(tenants), number)
        row = row or await self._pool.fetchrow(SQL["envelope_of_receipt"], list(tenants), number)
        return None if row is None else str(row["tenant_id"])

    async def of(self, tenants: Sequence[str], number: UUID, *, forced: bool, by: str) -> Redelivered | None:
        """Deliver a delivery or a receipt again; None where it is not known, or not decided yet.

        `forced` passes over guard 1 and says so. Raises `NotStoredError` as `GroupCommit.store` does.
        """
        found = await self._pool.fetchrow(SQL["receipts_of_delivery"], list(tenants), number)
        wanted = [number] if found is None else list(found["receipts"])
        stored = [
            loads_envelope(row["envelope"])
            for receipt in wanted
            if (row := await self._pool.fetchrow(SQL["envelope_of_receipt"], list(tenants), receipt))
        ]
        if not stored or len(stored) != len(wanted):
            return None
        began = self._clock()
        again = [self._again(envelope, began, forced=forced, by=by) for envelope in stored]
        tenant = again[0].tenantid
        await self._commit.store(tenant, [dumps(envelope) for envelope in again])
        for before, after in zip(stored, again, strict=True):
            self._log.record(self._delivery(before, after, began, forced=forced, by=by))
        pairs = tuple((a.receiptid, b.receiptid) for a, b in zip(again, stored, strict=True))
        return Redelivered(tenant, pairs)

    def _again(self, envelope: Envelope, now: datetime, *, forced: bool, by: str) -> Envelope:
        notes = {name: value for name, value in envelope.outside.items() if name != outside.ENDPOINT_PAUSED}
        notes |= {outside.REDELIVERY_OF: envelope.receiptid, outside.REDELIVERED_BY: by}
        notes.pop(outside.FORCED, None)
        if forced:
            notes[outside.FORCED] = True
        return replace(envelope, receiptid=self._id(now), recordedtime=now, outside=notes)

    def _delivery(
        self, before: Envelope, after: Envelope, began: datetime, *, forced: bool, by: str
    ) -> Delivery:
        now = self._clock()
        return Delivery(
            tenant=after.tenantid,
            id=self._id(now),
            endpoint=after.origin.removeprefix("webhook/"),
            received=began,
            verdict="redelivered",
            status=202,
            reason="forced" if forced else None,
            latency_ms=max(0.0, (now - began).total_seconds() * 1000),
            size=0,
            receipts=(after.receiptid,),
            redelivery_of=before.receiptid,
            by=by,
        )

    def _id(self, now: datetime) -> str:
        return str(uuid7(int(now.timestamp() * 1000), self._randomness(RANDOM_BYTES)))
