"""The verbs of the mailbox: set-based statements, one answer an item, the token compared in every one."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from asyncpg import Record

from sereno.mailbox import dead_letter, lines, notices
from sereno.mailbox.backoff import MAXIMUM_SECONDS, MINIMUM_SECONDS
from sereno.mailbox.claiming import Claim, Claims
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.emission import Emission, Emitter
from sereno.mailbox.engine import queries, telemetry
from sereno.mailbox.lease_items import (
    AckItem,
    Answer,
    Claimed,
    EmitItem,
    ParkItem,
    ReleaseItem,
    RenewItem,
    Status,
)
from sereno.mailbox.principal import SYSTEM, Principal
from sereno.mailbox.reach import Reach
from sereno.mailbox.refusals import expect, expect_emitted, expect_json, expect_park, expect_tokens
from sereno.mailbox.wake import Wake

MAX_BATCH = 1000
POLL_SECONDS = 1.0

_SQL = queries.load("sereno.mailbox", "verbs.sql")
_VERBS = telemetry.counter("sereno.mailbox.verbs")
_LOST = telemetry.counter("sereno.mailbox.fence_losses")
_REFUSED_VERBS = ("renew", "ack", "release", "park", "check", "emit")

Connected = Callable[[], Awaitable[bool]]
"""Answers whether somebody still waits for what is being claimed."""


async def _always() -> bool:
    return True


class Mailbox:
    """Claims, and the verbs of a lease, over one pool. Times are the database's."""

    def __init__(
        self,
        pool: AnyPool,
        *,
        wake: Wake | None = None,
        poll_seconds: float = POLL_SECONDS,
        emitter: Emitter | None = None,
    ) -> None:
        self.pool = pool
        self.wake = wake or Wake(None)
        self._poll_seconds = poll_seconds
        self._emitter = emitter
        self._claims = Claims(pool)
        # Of a series that begins with its first refusal, nobody sees that it rose.
        for verb in _REFUSED_VERBS:
            for status in (Status.STALE, Status.EXPIRED):
                _VERBS.add(0, {"verb": verb, "status": status})

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
        expect(wait_seconds >= 0, f"wait_seconds: expected 0 or more, got {wait_seconds}")
        claim = _claim(
            tenant,
            agent,
            most=max,
            lease_seconds=lease_seconds,
            principal=principal,
            incarnation=incarnation,
        )
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_seconds
        async with self.wake.listen(tenant, agent) as hinted:
            while await connected():
                hinted.clear()
                claimed = await self._claims.take(claim)
                left = until - loop.time()
                if claimed or left <= 0:
                    return claimed
                if (
                    not await _set_within(hinted, min(left, self._poll_seconds))
                    and left <= self._poll_seconds
                ):
                    break
        return []

    async def renew(self, items: Sequence[RenewItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Prolong leases by the time they were granted for; `cancelled` ends the lease."""
        progress: list[Any] = [expect_json(f"items[{n}].progress", i.progress) for n, i in enumerate(items)]
        columns = [progress if any(progress) else []]
        return await self._answer("renew", [item.token for item in items], columns, principal)

    async def ack(self, items: Sequence[AckItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Close work as done. A repeated acknowledgement answers `stale` with state `acked`."""
        return await self._answer("ack", [item.token for item in items], _results(items), principal)

    async def ack_and_claim(
        self,
        items: Sequence[AckItem],
        tenant: str,
        agent: str,
        *,
        max: int = 1,  # noqa: A002 - the contract's name
        lease_seconds: float | None = None,
        incarnation: str,
        principal: Principal = SYSTEM,
    ) -> tuple[list[Answer], list[Claimed]]:
        """Acknowledge what is done and lease what is ready, in one transaction: for a worker that is busy.

        Each acknowledgement is answered as `ack` answers it; what is refused keeps nothing from being claimed. It
        does not wait: who gets nothing waits with `claim`. Raises ValueError naming the argument.
        """
        claim = _claim(
            tenant,
            agent,
            most=max,
            lease_seconds=lease_seconds,
            principal=principal,
            incarnation=incarnation,
        )
        tokens, columns = [item.token for item in items], _results(items)
        expect_tokens(tokens, MAX_BATCH)
        reach = Reach.of(principal)
        asked, picked = _in_reach(tokens, columns, reach)
        live, claimed = await self._claims.take_after_ack(claim, (asked, *picked, *reach.filter, reach.name))
        answers = {token: Answer(token, Status.OK, None, "acked") for token in live}
        answered = await self._refused("ack", tokens, asked, answers, reach)
        return answered, await self._claims.take(claim) if claimed is None else claimed

    async def release(self, items: Sequence[ReleaseItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Give work back; the answer's state is `ready`, or `dead` when that was the last attempt."""
        columns: list[list[Any]] = [[item.reason for item in items], [item.retry_after for item in items]]
        return await self._answer("release", [item.token for item in items], columns, principal)

    async def park(self, items: Sequence[ParkItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Set work aside until it is answered; the lease ends, the attempt is given back, age stands still."""
        for place, item in enumerate(items):
            expect_park(place, item)
        columns: list[list[Any]] = [
            [item.waiting_for for item in items],
            [item.question for item in items],
            [_json(list(item.options)) for item in items],
            [item.dependency for item in items],
            [item.deadline for item in items],
            [item.remind_after_seconds for item in items],
        ]
        return await self._answer("park", [item.token for item in items], columns, principal)

    async def check(self, tokens: Sequence[int], principal: Principal = SYSTEM) -> list[Answer]:
        """Whether these holders may still act, now."""
        return await self._answer("check", tokens, [], principal)

    async def emit(self, items: Sequence[EmitItem], principal: Principal = SYSTEM) -> list[Answer]:
        """Let agents say something: into the ingress with the check of the token, or not at all.

        Tenant, origin, actor and genealogy are the platform's to set. Raises RuntimeError where this
        process has no emitter.
        """
        for place, item in enumerate(items):
            expect_json(f"items[{place}].data", item.data)
            expect_emitted(place, item)
        if self._emitter is None:
            raise RuntimeError("this mailbox was made without an emitter")
        return await self._answer("emit", [item.token for item in items], [list(items)], principal)

    async def resume(self, tenant: str, message_id: UUID, answer: Mapping[str, Any], principal: str) -> bool:
        """Answer parked work; it is claimable at once. False when it is not parked (any more)."""
        text = expect_json("answer", dict(answer))
        async with self.pool.acquire() as conn:
            rows = await conn.fetch(_SQL["resume"], [tenant], [message_id], [text], principal)
        await self.wake.publish({(row["tenant_id"], row["agent"]) for row in rows})
        return bool(rows)

    async def redrive(
        self,
        tenant: str,
        which: dead_letter.Filter,
        *,
        reason: str,
        principal: str,
        preview: bool = False,
    ) -> int:
        """Bring dead messages back as a new run with counters anew; with `preview` only says how many."""
        boxes, count = await dead_letter.redrive(
            self.pool, tenant, which, reason=reason, principal=principal, preview=preview
        )
        self._claims.returned(boxes)
        await self.wake.publish(boxes)
        return count

    async def dead_letter(
        self,
        tenant: str,
        which: dead_letter.Filter,
        *,
        reason: str,
        principal: str,
        preview: bool = False,
    ) -> int:
        """End open messages, dead with this reason, what is held at the next renewal; with `preview` only says how many."""
        return await dead_letter.end(
            self.pool, tenant, which, reason=reason, principal=principal, preview=preview
        )

    async def _answer(
        self, verb: str, tokens: Sequence[int], columns: Sequence[Sequence[Any]], principal: Principal
    ) -> list[Answer]:
        expect_tokens(tokens, MAX_BATCH)
        reach = Reach.of(principal)
        asked, picked = _in_reach(tokens, columns, reach)
        answers = await self._run(verb, asked, picked, reach) if asked else {}
        return await self._refused(verb, tokens, asked, answers, reach)

    async def _refused(
        self,
        verb: str,
        tokens: Sequence[int],
        asked: Sequence[int],
        answers: dict[int, Answer],
        reach: Reach,
    ) -> list[Answer]:
        """All answers in the order of the items: with the live leases', why the others are refused."""
        refused = [token for token in asked if token not in answers]
        if refused:
            rows = await self.pool.fetch(_SQL["refuse_batch"], refused, *reach.filter, reach.name, verb)
            answers |= {row["token"]: _to_answer(row) for row in rows}
        for status, count in Counter(answer.status for answer in answers.values()).items():
            _VERBS.add(count, {"verb": verb, "status": status})
            if status is Status.CANCELLED and verb == "renew":
                _LOST.add(count, {"reason": status})
        return [answers.get(token) or Answer(token, Status.UNKNOWN) for token in tokens]

    async def _run(
        self, verb: str, tokens: Sequence[int], columns: Sequence[Sequence[Any]], reach: Reach
    ) -> dict[int, Answer]:
        match verb:
            case "check":
                rows = await self.pool.fetch(_SQL["check_batch"], tokens, *reach.filter)
            case "ack":
                live = await self.pool.fetchval(
                    _SQL["ack_batch"], tokens, *columns, *reach.filter, reach.name
                )
                return {token: Answer(token, Status.OK, None, "acked") for token in live}
            case "emit":
                return await self._emit(tokens, columns[0], reach)
            case _:
                rows = await self._ended(verb, tokens, columns, reach)
        return {row["token"]: _to_answer(row) for row in rows}

    async def _ended(
        self, verb: str, tokens: Sequence[int], columns: Sequence[Sequence[Any]], reach: Reach
    ) -> list[Record]:
        """Renew, release, park: what may end a lease, with what follows from that in the same transaction."""
        bounds = (MINIMUM_SECONDS, MAXIMUM_SECONDS) if verb == "release" else ()
        async with self.pool.acquire() as conn, conn.transaction():
            rows = await conn.fetch(
                _SQL[f"{verb}_batch"], tokens, *columns, *reach.filter, reach.name, *bounds
            )
            await lines.promote(conn, rows)
            if verb == "release":
                await notices.record(conn, dead_letter.notices(map(dict, rows)))
            if verb == "park":
                await notices.record(conn, dead_letter.waiting(map(dict, rows)))
        back = {(row["tenant_id"], row["agent"]) for row in rows if row["state"] == "ready"}
        self._claims.returned(back)
        await self.wake.publish(back)
        return rows

    async def _emit(
        self, tokens: Sequence[int], items: Sequence[EmitItem], reach: Reach
    ) -> dict[int, Answer]:
        if self._emitter is None:
            raise RuntimeError("this mailbox was made without an emitter")
        said = {item.token: item for item in items}
        async with self.pool.acquire() as conn, conn.transaction():
            live = await conn.fetch(_SQL["hold_live"], tokens, *reach.filter)
            emissions = [_emission(row, said[row["token"]], reach) for row in live]
            receipts = await self._emitter.emit(conn, emissions) if emissions else []
            await _log_emitted(conn, emissions, receipts)
        return {
            one.token: Answer(one.token, Status.OK, None, "leased", receipt)
            for one, receipt in zip(emissions, receipts, strict=True)
        }


async def _log_emitted(conn: AnyConnection, emissions: Sequence[Emission], receipts: Sequence[UUID]) -> None:
    rows = [
        (e.tenant, e.message_id, e.run_id, e.agent, e.token, e.principal, e.on_behalf_of, e.type, receipt)
        for e, receipt in zip(emissions, receipts, strict=True)
    ]
    if rows:
        await conn.execute(_SQL["log_emitted"], *map(list, zip(*rows, strict=True)))


def _emission(row: Record, item: EmitItem, reach: Reach) -> Emission:
    return Emission(
        token=row["token"],
        tenant=row["tenant_id"],
        agent=row["agent"],
        message_id=row["id"],
        run_id=row["run_id"],
        principal=reach.name or row["holder"],
        on_behalf_of=row["on_behalf_of"],
        subscription=row["subscription"],
        lineage=row["lineage"],
        envelopes=row["envelopes"],
        context=row["context"],
        type=item.type,
        data=item.data,
        subject=item.subject,
    )


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _to_answer(row: Record) -> Answer:
    return Answer(row["token"], Status(row["status"]), row["until"], row["state"])


def _claim(
    tenant: str,
    agent: str,
    *,
    most: int,
    lease_seconds: float | None,
    principal: Principal,
    incarnation: str,
) -> Claim:
    expect(1 <= most <= MAX_BATCH, f"max: expected 1 to {MAX_BATCH}, got {most}")
    expect(
        lease_seconds is None or lease_seconds > 0,
        f"lease_seconds: expected more than 0, got {lease_seconds}",
    )
    return Claim(tenant, agent, most, lease_seconds, principal.name, incarnation)


def _results(items: Sequence[AckItem]) -> list[list[str | None]]:
    """Results and usages as columns; empty where nobody reports any."""
    results = [expect_json(f"items[{n}].result", item.result) for n, item in enumerate(items)]
    usages = [expect_json(f"items[{n}].usage", item.usage) for n, item in enumerate(items)]
    return [results if any(results) else [], usages if any(usages) else []]


def _in_reach(
    tokens: Sequence[int], columns: Sequence[Sequence[Any]], reach: Reach
) -> tuple[Sequence[int], Sequence[Sequence[Any]]]:
    """What this caller may name, in the order of tokens, so that two calls never wait for each other's rows."""
    known = sorted((p for p, token in enumerate(tokens) if reach.may_name(token)), key=tokens.__getitem__)
    if len(known) == len(tokens) and known == list(range(len(tokens))):
        return tokens, columns
    picked = [[column[place] for place in known] if column else column for column in columns]
    return [tokens[place] for place in known], picked


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
