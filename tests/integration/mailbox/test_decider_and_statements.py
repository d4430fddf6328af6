"""The statements and the decider make the same of the same moves: one is the specification of the other."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from sereno.mailbox import standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease import CLOSED, Refusal, State, Work, decide, evolve
from sereno.mailbox.lease import commands as c
from sereno.mailbox.lease.log import fold, read
from sereno.mailbox.lease.stored import work_of
from sereno.mailbox.lease_items import AckItem, Answer, ParkItem, ReleaseItem, RenewItem, Status
from sereno.mailbox.message import Message
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message

MOVES = 40
NEVER_ISSUED = 1
WAYS = ["claim"] * 6 + ["renew", "renew", "ack", "release", "not_started", "rejected"]
WAYS += ["reap", "reap", "hold", "hold-too", "suspend", "unhold", "withdraw", "lapse", "lapse"]
WAYS += ["park", "park", "resume", "redrive"]


class Run:
    """One message taken through random moves on the database, with its work as the decider sees it."""

    def __init__(self, pool: AnyPool, seed: int, given: Message) -> None:
        self.pool = pool
        self.mailbox = Mailbox(pool)
        self.random = random.Random(seed)
        self.message = given
        self.tokens = [NEVER_ISSUED]
        self.position = 0

    async def start(self) -> None:
        async with self.pool.acquire() as conn:
            await deposit(conn, [self.message])
        row = await self.pool.fetchrow("select * from mailbox.message where id = $1", self.message.id)
        assert row is not None
        self.row = dict(row)
        self.work = fold(self.row, [])

    async def move(self) -> None:
        way = self.random.choice(WAYS)
        before = await self.now()
        command, answer = await self.make(way, before)
        events = [read(row) for row in await self.logged()]
        happened = [event for event in events if event is not None]
        at = happened[0].at if happened else await self.now()
        expected = decide(self.work, self.dated(command, at)) if command else ()
        if isinstance(expected, Refusal):
            assert not happened, (way, self.work, happened)
            if answer is not None:
                # Only the log knows that a token was never issued.
                status = Status.UNKNOWN if answer.token == NEVER_ISSUED else expected.status
                assert answer.status is status, (way, self.work, answer)
        else:
            assert tuple(happened) == expected, (way, self.work)
        for event in happened:
            self.work = evolve(self.work, event)
        assert await self.stored() == self.work, (way, happened)

    async def make(self, way: str, before: datetime) -> tuple[c.Command | None, Answer | None]:
        """Do it on the database; what it is to the decider, and the answer of a lease verb."""
        token = self.random.choice(self.tokens[-3:])
        match way:
            case "claim":
                lease = self.random.choice([None, 20.0])
                got = await self.mailbox.claim(
                    self.message.tenant, self.message.agent, lease_seconds=lease, incarnation="w"
                )
                self.tokens += [one.lease.token for one in got]
                span = None if lease is None else timedelta(seconds=lease)
                return c.Claim(before, got[0].lease.token if got else (1 << 60), span), None
            case "renew":
                [answer] = await self.mailbox.renew([RenewItem(token)])
                return c.Renew(before, token), answer
            case "ack":
                [answer] = await self.mailbox.ack([AckItem(token)])
                return c.Ack(before, token), answer
            case "release" | "not_started" | "rejected":
                after = self.random.choice([None, 0.0, 2.5])
                [answer] = await self.mailbox.release([ReleaseItem(token, way, after)])
                span = None if after is None else timedelta(seconds=after)
                return c.Release(before, token, way, span), answer
            case "park":
                [answer] = await self.mailbox.park([ParkItem(token, "question", "Which?")])
                return c.Park(before, token, "question"), answer
            case _:
                return await self.impose(way, before), None

    async def impose(self, way: str, before: datetime) -> c.Command | None:
        tenant, subscription = self.message.tenant, self.message.subscription.name
        if way == "resume":
            await self.mailbox.resume(tenant, self.message.id, {"choice": 1}, "user:marta")
            return c.Resume(before)
        if way == "redrive":
            await self.mailbox.redrive(tenant, Filter(), reason="again", principal="user:marta")
            return c.Redrive(before)
        async with self.pool.acquire() as conn:
            match way:
                case "reap":
                    await Reaper(self.pool).sweep()
                    return c.Reap(before)
                case "hold" | "hold-too" | "suspend":
                    await standing.hold(conn, tenant, subscription, way, cancel=way != "suspend")
                    return c.Hold(before, way, way != "suspend")
                case "unhold":
                    cause = self.random.choice(["hold", "hold-too", "suspend"])
                    await standing.unhold(conn, tenant, subscription, cause)
                    return c.Unhold(before, cause)
                case "withdraw" if self.random.random() < 0.2:
                    await standing.withdraw(conn, tenant, subscription)
                    return c.Withdraw(before, "withdrawn")
        await self.lapse()
        return None

    async def lapse(self) -> None:
        """Let time pass in no time: move all times of the message and its log back."""
        span = self.random.choice([timedelta(seconds=1), timedelta(seconds=25)])
        async with self.pool.acquire() as conn:
            await conn.execute(
                "update mailbox.event set at = at - $1::interval, until = until - $1::interval", span
            )
            await conn.execute(
                "update mailbox.work set ready_at = ready_at - $1::interval, leased_until = leased_until - $1::interval,"
                " hard_deadline = hard_deadline - $1::interval, give_up_at = give_up_at - $1::interval,"
                " still_since = still_since - $1::interval",
                span,
            )
            await conn.execute("update mailbox.message set ready_at = ready_at - $1::interval", span)
        self.row["ready_at"] -= span
        rows = await self.pool.fetch(
            "select * from mailbox.event where position <= $1 order by position", self.position
        )
        self.work = fold(self.row, map(dict, rows))

    @staticmethod
    def dated(command: c.Command, at: datetime) -> c.Command:
        values = {name: getattr(command, name) for name in command.__slots__}
        return type(command)(**(values | {"now": at}))

    async def now(self) -> datetime:
        now: datetime = await self.pool.fetchval("select clock_timestamp()")
        return now

    async def logged(self) -> list[dict[str, Any]]:
        rows = await self.pool.fetch(
            "select * from mailbox.event where position > $1 order by position", self.position
        )
        self.position = rows[-1]["position"] if rows else self.position
        return [dict(row) for row in rows]

    async def stored(self) -> Work:
        row = await self.pool.fetchrow("select * from mailbox.work")
        if row is not None:
            return work_of(dict(row), self.work.terms)
        closed = await self.pool.fetchrow("select state, reason, attempts, token from mailbox.standing")
        assert closed is not None
        assert tuple(closed) == (self.work.state, self.work.reason, self.work.attempts, self.work.token)
        return self.work


@pytest.mark.req(383)
@pytest.mark.parametrize("seed", range(12))
async def test_random_moves_leave_the_same_events_answers_and_work(pool: AnyPool, seed: int) -> None:
    given = message(max_attempts=4, lease_seconds=10, max_run_seconds=30, max_age_seconds=120)
    run = Run(pool, seed, given)
    await run.start()
    for _ in range(MOVES):
        await run.move()
    rows = await pool.fetch("select * from mailbox.event order by position")
    assert fold(run.row, map(dict, rows)) == run.work


async def test_the_database_and_the_table_know_the_same_states(pool: AnyPool) -> None:
    sql = (
        "select regexp_matches(pg_get_constraintdef(oid), '''([a-z]+)''::text', 'g') from pg_constraint"
        " where conname = any($1)"
    )
    states = {row[0][0] for row in await pool.fetch(sql, ["work_state"])}
    assert states == set(State) - CLOSED


def test_a_verb_has_a_status_for_each_refusal() -> None:
    assert set(Status) == {"ok", "stale", "expired", "cancelled", "unknown"}
