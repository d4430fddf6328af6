"""The claim: what it asks of the database, and its rows as messages in the hands of a holder."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asyncpg import Record

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries, telemetry
from sereno.mailbox.fair_order import Cursor, FairOrder
from sereno.mailbox.lease_items import Claimed, LeaseGrant
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.wake import Box

_SQL = queries.load("sereno.mailbox", "verbs.sql")
_CLAIMS = telemetry.counter("sereno.mailbox.claims")
_LATENCY = telemetry.histogram("sereno.mailbox.claim_latency")


@dataclass(frozen=True, slots=True)
class Claim:
    """Who asks for how many messages of which mailbox; `lease_seconds` None is what each message says."""

    tenant: str
    agent: str
    most: int
    lease_seconds: float | None
    principal: str | None
    incarnation: str

    def arguments(self, bound: int | None) -> tuple[Any, ...]:
        """In the order of the statements."""
        return (
            self.tenant,
            self.agent,
            self.most,
            self.lease_seconds,
            self.principal,
            self.incarnation,
            bound,
        )


class Claims:
    """Runs claims over one pool and remembers how far each mailbox's fair order has come."""

    def __init__(self, pool: AnyPool) -> None:
        self._pool = pool
        self._order = FairOrder()

    async def take(self, claim: Claim) -> list[Claimed]:
        """Lease what is ready now; one statement, and a second where the first looked at a part and found nothing."""
        cursor = self._order.of(claim.tenant, claim.agent)
        bound, began = cursor.lower_bound(), time.monotonic()
        leased = await self._pool.fetch(_SQL["claim"], *claim.arguments(bound))
        if not leased and bound is not None and cursor.found_nothing():
            bound, began = None, time.monotonic()
            leased = await self._pool.fetch(_SQL["claim"], *claim.arguments(None))
        return await self._took(claim, cursor, leased, None if bound is not None else began)

    async def take_after_ack(
        self, claim: Claim, acks: Sequence[Any]
    ) -> tuple[list[int], list[Claimed] | None]:
        """Acknowledge and lease in one statement: the tokens that were live, and what was claimed.

        `acks` are the arguments of the acknowledgement, in the order of its statement. Where one was refused, or
        where nothing was found in a part of the mailbox, nothing is claimed yet: None.
        """
        cursor = self._order.of(claim.tenant, claim.agent)
        bound, began = cursor.lower_bound(), time.monotonic()
        first, *leased = await self._pool.fetch(_SQL["ack_and_claim"], *acks, *claim.arguments(bound))
        if not leased and (bound is not None or len(first["acked"]) < len(acks[0])):
            return first["acked"], None
        return first["acked"], await self._took(claim, cursor, leased, None if bound is not None else began)

    def returned(self, boxes: Iterable[Box]) -> None:
        """Something came back into these mailboxes: the next claim looks from the beginning."""
        for box in boxes:
            self._order.of(*box).returned()

    async def _took(
        self, claim: Claim, cursor: Cursor, leased: Sequence[Record], sweep_began: float | None
    ) -> list[Claimed]:
        if sweep_began is not None:
            cursor.swept(time.monotonic() - sweep_began)
        if not leased:
            return []
        cursor.claimed(max(row["tag"] for row in leased))
        _measure(leased)
        ids = [row["id"] for row in leased if row["answered"]]
        answers = await self._pool.fetch(_SQL["answers"], claim.tenant, ids) if ids else []
        return [_claimed(claim, row, answers) for row in leased]


def _measure(leased: Sequence[Record]) -> None:
    _CLAIMS.add(len(leased))
    for row in leased:
        # Only a first claim says how long a deposit waited.
        if row["attempts"] == 1:
            _LATENCY.record(row["waited"])


@lru_cache(maxsize=4096)
def _subscription(name: str, version: int) -> SubscriptionRef:
    return SubscriptionRef(name, version)


def _claimed(claim: Claim, row: Record, answers: Sequence[Record]) -> Claimed:
    # By place, which is much cheaper than by name: this is done for every message.
    (
        key, name, version, instruction, envelopes, priority, serial_key, lineage, context, _waited, attempts,
        max_attempts, token, until, hard_deadline, seconds, *_
    ) = row  # fmt: skip
    return Claimed(
        key,
        claim.tenant,
        claim.agent,
        _subscription(name, version),
        instruction,
        envelopes,
        attempts,
        max_attempts,
        priority,
        serial_key,
        lineage,
        LeaseGrant(token, until, hard_deadline, seconds),
        context,
        [_answer_of(one) for one in answers if one["message_id"] == key] if answers else (),
    )


def _answer_of(row: Record) -> dict[str, Any]:
    return {key: row[key] for key in ("waiting_for", "answer", "principal", "at")}
