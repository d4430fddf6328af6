"""The claim: what it asks of the database, and its rows as messages in the hands of a holder."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
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
_LATENCY = telemetry.spread("sereno.mailbox.claim_latency")


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
        row = await self._row(_SQL["claim"], *claim.arguments(bound))
        if not row["ids"] and bound is not None and cursor.found_nothing():
            bound, began = None, time.monotonic()
            row = await self._row(_SQL["claim"], *claim.arguments(None))
        return await self._took(claim, cursor, row, None if bound is not None else began)

    async def take_after_ack(
        self, claim: Claim, acks: Sequence[Any]
    ) -> tuple[list[int], list[Claimed] | None]:
        """Acknowledge and lease in one statement: the tokens that were live, and what was claimed.

        `acks` are the arguments of the acknowledgement, in the order of its statement. Where one was refused, or
        where nothing was found in a part of the mailbox, nothing is claimed yet: None.
        """
        cursor = self._order.of(claim.tenant, claim.agent)
        bound, began = cursor.lower_bound(), time.monotonic()
        row = await self._row(_SQL["ack_and_claim"], *acks, *claim.arguments(bound))
        acked: list[int] = row["acked"]
        if not row["ids"] and (bound is not None or len(acked) < len(acks[0])):
            return acked, None
        return acked, await self._took(claim, cursor, row, None if bound is not None else began)

    async def _row(self, sql: str, *arguments: Any) -> Record:
        [row] = await self._pool.fetch(sql, *arguments)
        return row

    def returned(self, boxes: Iterable[Box]) -> None:
        """Something came back into these mailboxes: the next claim looks from the beginning."""
        for box in boxes:
            self._order.of(*box).returned()

    async def _took(
        self, claim: Claim, cursor: Cursor, row: Record, sweep_began: float | None
    ) -> list[Claimed]:
        if sweep_began is not None:
            cursor.swept(time.monotonic() - sweep_began)
        if not row["ids"]:
            return []
        cursor.claimed(row["tag"])
        _measure(claim.tenant, row)
        ids = row["answered"]
        answers = await self._pool.fetch(_SQL["answers"], claim.tenant, ids) if ids else ()
        return _claimed(claim, row, answers)


def _measure(tenant: str, row: Record) -> None:
    _CLAIMS.add(len(row["ids"]), {"tenant": tenant})
    for attempts, waited in zip(row["attempts"], row["waiting"], strict=True):
        # Only a first claim says how long a message waited.
        if attempts == 1:
            _LATENCY.add(waited)


@lru_cache(maxsize=4096)
def _subscription(name: str, version: int) -> SubscriptionRef:
    return SubscriptionRef(name, version)


_LEASE = ("ids", "tokens", "attempts", "lasting", "running")
_MESSAGE = (
    "keys",
    "subscriptions",
    "versions",
    "instructions",
    "envelopes",
    "priorities",
    "serial_keys",
    "lineages",
    "contexts",
    "max_attempts",
)


def _claimed(claim: Claim, row: Record, answers: Sequence[Record]) -> list[Claimed]:
    """The columns as messages in the hands of a holder, in the order in which they were leased."""
    messages = {message[0]: message for message in zip(*(row[name] for name in _MESSAGE), strict=True)}
    after = _After(row["at"])
    tenant, agent = claim.tenant, claim.agent
    leased = []
    for key, token, attempts, lasting, running in zip(*(row[name] for name in _LEASE), strict=True):
        _, name, version, instruction, envelopes, priority, serial_key, lineage, context, most = messages[key]
        leased.append(
            Claimed(
                key,
                tenant,
                agent,
                _subscription(name, version),
                instruction,
                envelopes,
                attempts,
                most,
                priority,
                serial_key,
                lineage,
                LeaseGrant(token, after[lasting], after[running], lasting),
                context,
                [_answer_of(one) for one in answers if one["message_id"] == key] if answers else (),
            )
        )
    return leased


class _After(dict[float, datetime]):
    """The time so many seconds after one; most leases of a claim end together."""

    def __init__(self, at: datetime) -> None:
        super().__init__()
        self._at = at

    def __missing__(self, seconds: float) -> datetime:
        then = self[seconds] = self._at + timedelta(seconds=seconds)
        return then


def _answer_of(row: Record) -> dict[str, Any]:
    return {key: row[key] for key in ("waiting_for", "answer", "principal", "at")}
