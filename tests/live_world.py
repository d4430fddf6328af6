"""The live shell on virtual time: the lines of a simulation done to a real database, with what each decided."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from sereno.execution_plane.accounts.reconciling import reconcile
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.guards.account import Account
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.pipeline.columns import recent_of
from sereno.execution_plane.pipeline.delivery import deliver
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.flushing import flush_batches
from sereno.execution_plane.pipeline.lifting import lift
from sereno.execution_plane.pipeline.release import release
from sereno.execution_plane.simulate.lines import Claim, Control, OfLease, Received, Resume, Standing, Stop
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.lease_items import AckItem
from sereno.mailbox.verbs import Mailbox
from sereno.subscriptions.snapshot import Lift

Told = tuple[str, str, str, str, str, str]
"""Event, subscription, outcome, guard, reason, numbers as JSON."""


AGAIN = "decided again"
"""In place of the numbers, beside which the rewritten row of what was held keeps for what it was."""


def told(event: str, subscription: str, decided: Any) -> Told:
    """A decision in the form in which both shells are compared."""
    return (event, subscription, decided.outcome, decided.guard, decided.reason, numbers_of(decided.numbers))


def numbers_of(numbers: Any) -> str:
    return orjson.dumps(numbers, option=orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z, default=str).decode()


@dataclass(slots=True)
class LiveWorld:
    """A pipeline whose database clock is what the lines say; `told` gathers what it decided, in order."""

    pool: AnyPool
    catalog: Catalog
    tenant: str
    now: datetime
    directory: Directory = field(init=False)
    told: list[Told] = field(default_factory=list)
    flushed: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    tokens: dict[UUID, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.directory = Directory(self.catalog)

    async def clock(self, _conn: AnyConnection) -> datetime:
        return self.now

    async def do(self, line: Received | Control, message: UUID | None = None) -> None:
        """What comes due until then, and then the line; `message` is whose lease it names."""
        await self.pass_time(line.at)
        self.now = line.at
        match line:
            case Received():
                await self._arrive(line)
            case Claim():
                got = await Mailbox(self.pool).claim(
                    self.tenant, line.agent, max=1000, lease_seconds=40_000, incarnation="w"
                )
                self.tokens |= {one.id: one.lease.token for one in got}
            case OfLease():
                assert message is not None
                await self._ack(line, message)
            case Resume():
                await self._resume(line)
            case Stop():
                await self._stop(line)
            case Standing():
                raise AssertionError("the control plane does this")
        await self.pass_time(line.at)

    async def _arrive(self, line: Received) -> None:
        arrival = line.arrival(self.directory.index)
        async with self.pool.acquire() as conn, conn.transaction():
            done = await deliver(conn, [arrival], self._valid(), self.clock)
        for item in done.decided:
            self._tell(item.passages)
        await self._flushes()

    def _valid(self) -> dict[str, datetime]:
        return {}

    def _tell(self, passages: Iterable[Passage]) -> None:
        self.told += [told(p.envelope.id, p.subscription.name, p.decided) for p in passages]

    async def pass_time(self, until: datetime) -> None:
        """Ask every batch at the moment at which it is due."""
        while True:
            row = await self.pool.fetchrow(
                "select tenant_id, id, subscription, due_at from execution.batch"
                " where closed_at is null and tenant_id = $1 and due_at <= $2"
                " order by due_at, subscription, id limit 1",
                self.tenant,
                until,
            )
            if row is None:
                return
            self.now = max(self.now, row["due_at"])
            async with self.pool.acquire() as conn, conn.transaction():
                await flush_batches(
                    conn, [(row["tenant_id"], row["id"], row["subscription"])], self.directory, self.clock
                )
            await self._flushes()

    async def _flushes(self) -> None:
        """Note the batches that have become messages since."""
        rows = await self.pool.fetch(
            "select b.message_id, array_agg(r.envelope ->> 'id' order by i.place) as events"
            " from execution.batch b join execution.batch_item i on i.tenant_id = b.tenant_id and i.batch_id = b.id"
            " join execution.receipt r on r.tenant_id = i.tenant_id and r.receiptid = i.receiptid"
            " where b.tenant_id = $1 and b.message_id is not null group by b.message_id",
            self.tenant,
        )
        known = {message for message, _ in self.flushed}
        self.flushed += [
            (str(row["message_id"]), tuple(row["events"]))
            for row in rows
            if str(row["message_id"]) not in known
        ]

    async def _ask_again(self, subscription: str | None = None) -> None:
        await self.pool.execute(
            "update execution.batch set due_at = $2 where tenant_id = $1 and closed_at is null"
            " and ($3::text is null or subscription = $3)",
            self.tenant,
            self.now,
            subscription,
        )

    async def _ack(self, line: OfLease, message: UUID) -> None:
        token = self.tokens[message]
        subscription: str = await self.pool.fetchval(
            "select subscription from mailbox.message where tenant_id = $1 and id = $2", self.tenant, message
        )
        answers = await Mailbox(self.pool).ack([AckItem(token, None, line.usage)])
        assert answers[0].status == "ok"
        async with self.pool.acquire() as conn, conn.transaction():
            await reconcile(conn, self.directory)
        await self._ask_again(subscription)

    async def _resume(self, line: Resume) -> None:
        rows = await self.pool.fetch(
            "select id, cause from execution.suspension where tenant_id = $1 and subscription = $2"
            " and (ended_at is null or held = 'review')",
            self.tenant,
            line.subscription,
        )
        stormy = any(row["cause"] == "storm" for row in rows)
        choice = line.held or ("review" if stormy else "deliver")
        lifts = [
            Lift(
                suspension=row["id"],
                subscription=line.subscription,
                held=choice,
                by="user:marta",
                reason="calm",
                at=self.now,
            )
            for row in rows
        ]
        async with self.pool.acquire() as conn, conn.transaction():
            await lift(conn, self.tenant, lifts, self.clock)
        await self._release(line.subscription)
        await self._ask_again(line.subscription)

    async def _stop(self, line: Stop) -> None:
        if line.do == "stop":
            await stop.engage(self.pool, self.tenant, reason="drill", principal="user:marta")
            return
        await stop.release(self.pool, self.tenant)
        for one in self.directory.index.of_tenant(self.tenant):
            await self._release(one.name)
            await self._ask_again(one.name)
            await self.pass_time(self.now)

    async def _release(self, subscription: str) -> None:
        """Everything of a subscription that nothing holds any more, in the order in which it came."""
        rows = await self.pool.fetch(
            "select h.tenant_id, h.receiptid, h.subscription from execution.held h"
            " left join execution.suspension s on s.tenant_id = h.tenant_id and s.id = h.suspension"
            " where h.tenant_id = $1 and h.subscription = $2"
            " and (h.cause = 'stopped' or (s.ended_at is not null and s.held <> 'review')) order by h.position",
            self.tenant,
            subscription,
        )
        for row in rows:
            key = (row["tenant_id"], row["receiptid"], row["subscription"])
            async with self.pool.acquire() as conn, conn.transaction():
                await release(conn, [key], self.directory, self.clock)
            found = await self.pool.fetchrow(
                "select r.envelope ->> 'id' as event, v.outcome, v.guard, v.reason from execution.verdict v"
                " join execution.receipt r using (tenant_id, receiptid)"
                " where v.tenant_id = $1 and v.receiptid = $2 and v.subscription = $3",
                *key,
            )
            assert found is not None
            self.told.append(
                (found["event"], key[2], found["outcome"], found["guard"], found["reason"], AGAIN)
            )
            await self._flushes()

    async def memories(self) -> dict[str, Any]:
        rows = await self.pool.fetch(
            "select * from execution.subscription_state where tenant_id = $1", self.tenant
        )
        return {
            row["subscription"]: (
                row["last_recorded"],
                row["last_delivered_at"],
                row["deliveries"],
                recent_of(row["arrivals"]),
            )
            for row in rows
        }

    async def subjects(self) -> dict[tuple[str, str], Any]:
        rows = await self.pool.fetch(
            "select * from execution.subject_state where tenant_id = $1", self.tenant
        )
        return {
            (row["subscription"], row["subject"]): (
                recent_of(row["arrivals"]),
                row["actor"],
                row["actor_before"],
                recent_of(row["turns"]),
            )
            for row in rows
        }

    async def budgets(self) -> dict[Account, Any]:
        rows = await self.pool.fetch("select * from execution.budget where tenant_id = $1", self.tenant)
        return {Account(*tuple(row)[:6]): row["used"] for row in rows if row["used"]}

    async def open_batches(self) -> dict[str, tuple[str, int, int, bool]]:
        rows = await self.pool.fetch(
            "select * from execution.batch where tenant_id = $1 and closed_at is null", self.tenant
        )
        return {str(r["id"]): (r["key"], r["items"], r["size"], r["sealed"]) for r in rows}

    async def suspensions(self) -> set[tuple[str, str, str | None]]:
        rows = await self.pool.fetch(
            "select id, cause, subject from execution.suspension where tenant_id = $1 and ended_at is null",
            self.tenant,
        )
        return {(str(row["id"]), row["cause"], row["subject"]) for row in rows}
