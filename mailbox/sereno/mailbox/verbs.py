"""The verbs of the mailbox: set-based statements, one answer an item, the token compared in every one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from asyncpg import Record

from sereno.mailbox import dead_letter, notices
from sereno.mailbox.backoff import MAXIMUM_SECONDS, MINIMUM_SECONDS
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries, telemetry
from sereno.mailbox.lease_items import (
    AckItem,
    Answer,
    Claimed,
    LeaseGrant,
    ReleaseItem,
    RenewItem,
    Status,
)
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.principal import SYSTEM, Principal
from sereno.mailbox.wake import Wake

MAX_BATCH = 1000
POLL_SECONDS = 1.0

_SQL = queries.load("sereno.mailbox", "verbs.sql")
_VERBS = telemetry.counter("sereno.mailbox.verbs")
_CLAIMS = telemetry.counter("sereno.mailbox.claims")
_LATENCY = telemetry.histogram("sereno.mailbox.claim_latency")

Connected = Callable[[], Awaitable[bool]]
"""Answers whether somebody still waits for what is being claimed."""


async def _always() -> bool:
    return True


class Mailbox:
    """Claims, and the verbs of a lease, over one pool. Times are the database's."""

    def __init__(
        self, pool: AnyPool, *, wake: Wake | None = None, poll_seconds: float = POLL_SECONDS
    ) -> None:
        self.pool = pool
        self.wake = wake or Wake(None)
        self._poll_seconds = poll_seconds

    async def claim(
        self,
        tenant: str,
        agent: str,
        *,
        max: int = 1,  # noqa: A002 - the contract's name
        lease_seconds: float | None = None,
        wait_seconds: float = 0.0,
        incarnation: str,
        principal: Principal = SYSTEM,
        connected: Connected = _always,
    ) -> list[Claimed]:
        """Lease up to `max` ready messages, waiting up to `wait_seconds` for the first.

        `incarnation` names this very process of the worker, not its host or role. While waiting at most
        one statement runs per poll interval, or at a hint. Raises ValueError naming the argument.
        """
        _expect(1 <= max <= MAX_BATCH, f"max: expected 1 to {MAX_BATCH}, got {max}")
        _expect(
            lease_seconds is None or lease_seconds > 0,
            f"lease_seconds: expected more than 0, got {lease_seconds}",
        )
        _expect(wait_seconds >= 0, f"wait_seconds: expected 0 or more, got {wait_seconds}")
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_seconds
        async with self.wake.listen(tenant, agent) as hinted:
            while await connected():
                hinted.clear()
                claimed, promoted = await self._claim_once(
                    tenant, agent, max, lease_seconds, principal.name, incarnation
                )
                if claimed:
                    return claimed
                if promoted:
                    continue
                left = until - loop.time()
                if left <= 0:
                    break
                if (
                    not await _set_within(hinted, min(left, self._poll_seconds))
                    and left <= self._poll_seconds
                ):
                    break
        return []

    async def _claim_once(self, *arguments: Any) -> tuple[list[Claimed], bool]:
        rows = await self.pool.fetch(_SQL["claim_batch"], *arguments)
        leased = [row for row in rows if row["token"] is not None]
        _measure(leased)
        claimed = [_claimed(row) for row in leased]
        return claimed, bool(rows[0]["promoted"])

    async def renew(self, items: Sequence[RenewItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Prolong leases by the time they were granted for; `cancelled` ends the lease."""
        progress: list[Any] = [_json(item.progress) for item in items]
        return await self._answer("renew", [item.token for item in items], [progress], principal)

    async def ack(self, items: Sequence[AckItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Close work as done. A repeated acknowledgement answers `stale` with state `acked`."""
        columns: list[list[Any]] = [
            [_json(item.result) for item in items],
            [_json(item.usage) for item in items],
        ]
        return await self._answer("ack", [item.token for item in items], columns, principal)

    async def release(self, items: Sequence[ReleaseItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Give work back; the answer's state is `ready`, or `dead` when that was the last attempt."""
        columns: list[list[Any]] = [[item.reason for item in items], [item.retry_after for item in items]]
        return await self._answer("release", [item.token for item in items], columns, principal)

    async def check(self, tokens: Sequence[int], principal: Principal = SYSTEM) -> list[Answer]:
        """Whether these holders may still act, now."""
        return await self._answer("check", tokens, [], principal)

    async def _answer(
        self, verb: str, tokens: Sequence[int], columns: Sequence[Sequence[Any]], principal: Principal
    ) -> list[Answer]:
        _expect_tokens(tokens)
        reach = _Reach.of(principal)
        known = [place for place, token in enumerate(tokens) if reach.may_name(token)]
        asked = [tokens[place] for place in known]
        picked = [[column[place] for place in known] for column in columns]
        answers = await self._run(verb, asked, picked, reach) if asked else {}
        refused = [token for token in asked if token not in answers]
        if refused:
            rows = await self.pool.fetch(_SQL["refuse_batch"], refused, *reach.filter, reach.name, verb)
            answers |= {row["token"]: _to_answer(row) for row in rows}
        for answer in answers.values():
            _VERBS.add(1, {"verb": verb, "status": answer.status})
        return [answers.get(token, Answer(token, Status.UNKNOWN)) for token in tokens]

    async def _run(
        self, verb: str, tokens: Sequence[int], columns: Sequence[Sequence[Any]], reach: "_Reach"
    ) -> dict[int, Answer]:
        if verb == "release":
            return await self._release(tokens, columns, reach)
        name = () if verb == "check" else (reach.name,)
        rows = await self.pool.fetch(_SQL[f"{verb}_batch"], tokens, *columns, *reach.filter, *name)
        return {row["token"]: _to_answer(row) for row in rows}

    async def _release(
        self, tokens: Sequence[int], columns: Sequence[Sequence[Any]], reach: "_Reach"
    ) -> dict[int, Answer]:
        bounds = (MINIMUM_SECONDS, MAXIMUM_SECONDS)
        async with self.pool.acquire() as conn, conn.transaction():
            rows = await conn.fetch(
                _SQL["release_batch"], tokens, *columns, *reach.filter, reach.name, *bounds
            )
            await notices.record(conn, dead_letter.notices(map(dict, rows)))
        await self.wake.publish({(row["tenant_id"], row["agent"]) for row in rows if row["due"]})
        return {row["token"]: _to_answer(row) for row in rows}


@dataclass(frozen=True, slots=True)
class _Reach:
    """A principal as the statements take it."""

    tenant: str | None
    agents: list[str] | None
    token: int | None
    name: str | None

    @classmethod
    def of(cls, principal: Principal) -> "_Reach":
        return cls(
            None if principal.tenant == "*" else principal.tenant,
            None if principal.agents is None else sorted(principal.agents),
            principal.token,
            # Who shows a lease bearer acts for the holder that claimed it.
            principal.name if principal.token is None else None,
        )

    @property
    def filter(self) -> tuple[str | None, list[str] | None]:
        return self.tenant, self.agents

    def may_name(self, token: int) -> bool:
        return self.token is None or self.token == token


def _expect_tokens(tokens: Sequence[int]) -> None:
    _expect(1 <= len(tokens) <= MAX_BATCH, f"items: expected 1 to {MAX_BATCH}, got {len(tokens)}")
    seen: set[int] = set()
    for place, token in enumerate(tokens):
        where = f"items[{place}].token"
        _expect(0 < token < 1 << 63, f"{where}: expected a token as a claim gave it, got {token}")
        _expect(token not in seen, f"{where}: {token} stands twice in one call")
        seen.add(token)


def _json(value: object) -> str | None:
    # As text: in an array of jsonb the driver would take a list for one more dimension.
    return None if value is None else orjson.dumps(value).decode()


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _to_answer(row: Record) -> Answer:
    return Answer(row["token"], Status(row["status"]), row["until"], row["state"])


def _measure(leased: Sequence[Record]) -> None:
    if leased:
        _CLAIMS.add(len(leased))
    for row in leased:
        # Only a first claim says how long a deposit waited.
        if row["attempts"] == 1:
            since = max(row["deposited_at"], row["ready_at"])
            _LATENCY.record((row["claimed_at"] - since).total_seconds())


def _claimed(row: Record) -> Claimed:
    return Claimed(
        id=row["id"],
        tenant=row["tenant_id"],
        agent=row["agent"],
        subscription=SubscriptionRef(row["subscription"], row["subscription_version"]),
        instruction=row["instruction"],
        envelopes=row["envelopes"],
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        priority=row["priority"],
        serial_key=row["serial_key"],
        lineage=row["lineage"],
        lease=LeaseGrant(row["token"], row["leased_until"], row["hard_deadline"], row["seconds"]),
        context=row["context"],
    )


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
