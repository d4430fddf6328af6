"""The mailbox against a model of a few lines, under whatever sequence of moves Hypothesis thinks of."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from sereno.mailbox import limits, standing, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.lease_items import AckItem, ParkItem, ReleaseItem, RenewItem, Status
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.engines import Engines
from tests.mailbox_messages import message

T = TypeVar("T")
LIMIT = 3
MAX_ATTEMPTS = 2
TABLES = "message, work, dead, parked, answer, event, box, flow, slot, serial_slot, stop, notice"


@dataclass
class Modelled:
    """One message as the model sees it; `line` is its place among those of its serial key."""

    key: str | None
    line: int
    state: str = "ready"
    attempts: int = 0
    token: int | None = None
    lapsed: bool = False


class Model(RuleBasedStateMachine):
    """Every rule does the same to the mailbox and to the model; the invariants compare them."""

    dsn: str

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.messages: dict[UUID, Modelled] = {}
        self.tokens: list[int] = []
        self.paused = self.stopped = False
        self.lines = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize()
    def start(self) -> None:
        self.pool: AnyPool = self.run(open_pool(self.dsn, application_name="model", max_size=2))
        self.mailbox = Mailbox(self.pool)
        self.run(self.pool.execute(f"truncate {', '.join('mailbox.' + t for t in TABLES.split(', '))}"))
        self.run(self._limit())

    async def _limit(self) -> None:
        async with self.pool.acquire() as conn:
            await limits.set_concurrency(conn, "acme", "triage", LIMIT)

    def teardown(self) -> None:
        if hasattr(self, "pool"):
            self.run(self.pool.close())
        self.runner.close()

    def expect_state(self, token: int) -> Modelled | None:
        """Whose live lease this is."""
        for one in self.messages.values():
            if one.token == token and one.state == "leased" and not one.lapsed:
                return one
        return None

    @rule(key=st.sampled_from([None, None, "a", "b"]))
    def deposit(self, key: str | None) -> None:
        given = message(serial_key=key, max_attempts=MAX_ATTEMPTS)

        async def put() -> None:
            async with self.pool.acquire() as conn, conn.transaction():
                await deposit(conn, [given])
                # A held subscription's next deposit is held by the guards; the model pauses it here.
                if self.paused:
                    await standing.hold(conn, "acme", "refund-watch", "paused")

        self.run(put())
        self.lines += 1
        self.messages[given.id] = Modelled(key, self.lines)

    def claimable(self) -> set[UUID]:
        heads: dict[str, int] = {}
        for one in self.messages.values():
            if one.key is not None and one.state in {"ready", "leased", "parked"}:
                heads[one.key] = min(one.line, heads.get(one.key, one.line))
        return {
            key
            for key, one in self.messages.items()
            if one.state == "ready" and (one.key is None or heads[one.key] == one.line)
        }

    @rule(count=st.integers(1, 4))
    def claim(self, count: int) -> None:
        free = LIMIT - sum(one.state == "leased" for one in self.messages.values())
        candidates = set() if self.paused or self.stopped else self.claimable()
        # A look from the beginning, whatever this process claimed before.
        mailbox = Mailbox(self.pool)
        got = self.run(mailbox.claim("acme", "triage", max=count, lease_seconds=600, incarnation="w"))
        assert len(got) == min(count, free, len(candidates))
        for one in got:
            assert one.id in candidates
            modelled = self.messages[one.id]
            assert not self.tokens or one.lease.token > max(self.tokens)
            modelled.state, modelled.token, modelled.lapsed = "leased", one.lease.token, False
            modelled.attempts += 1
            assert one.attempts == modelled.attempts
            self.tokens.append(one.lease.token)

    @rule(
        data=st.data(),
        verb=st.sampled_from(["renew", "ack", "busy", "not_started", "rejected", "park", "check"]),
    )
    def use(self, data: st.DataObject, verb: str) -> None:
        """A verb with any token ever given out: it counts for the live lease alone."""
        if not self.tokens:
            return
        token = data.draw(st.sampled_from(self.tokens[-6:]))
        live = self.expect_state(token)
        status = self.run(self._verb(verb, token))
        if live is None:
            assert status not in {Status.OK, Status.UNKNOWN}
            return
        if verb in {"renew", "check"} and (self.paused or self.stopped):
            assert status is Status.CANCELLED
            if verb == "renew":
                live.state, live.attempts = "ready", live.attempts - 1
            return
        assert status is Status.OK
        self._moved(live, verb)

    async def _verb(self, verb: str, token: int) -> Status:
        match verb:
            case "renew":
                [answer] = await self.mailbox.renew([RenewItem(token)])
            case "ack":
                [answer] = await self.mailbox.ack([AckItem(token)])
            case "park":
                [answer] = await self.mailbox.park([ParkItem(token, "approval")])
            case "check":
                [answer] = await self.mailbox.check([token])
            case reason:
                [answer] = await self.mailbox.release([ReleaseItem(token, reason)])
                # The back-off passes in no time.
                await self.pool.execute(
                    "update mailbox.work set ready_at = clock_timestamp() where state = 'ready'"
                )
        return answer.status

    @staticmethod
    def _moved(one: Modelled, verb: str) -> None:
        match verb:
            case "ack":
                one.state = "acked"
            case "park":
                one.state, one.attempts = "parked", one.attempts - 1
            case "not_started":
                one.state, one.attempts = "ready", one.attempts - 1
            case "rejected":
                one.state = "dead"
            case "busy":
                one.state = "dead" if one.attempts >= MAX_ATTEMPTS else "ready"

    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        if not self.messages:
            return
        key = data.draw(st.sampled_from(sorted(self.messages)))
        resumed = self.run(self.mailbox.resume("acme", key, {"ok": True}, "user:marta"))
        assert resumed == (self.messages[key].state == "parked")
        if resumed:
            self.messages[key].state = "ready"

    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        leased = [one for one in self.messages.values() if one.state == "leased" and not one.lapsed]
        if not leased:
            return
        one = data.draw(st.sampled_from(leased))
        sql = "update mailbox.work set leased_until = clock_timestamp() - interval '1 ms' where token = $1"
        self.run(self.pool.execute(sql, one.token))
        one.lapsed = True

    @rule()
    def reap(self) -> None:
        """Also what follows a crash of a worker: its lease lapsed, and somebody looks."""
        self.run(Reaper(self.pool).sweep())
        for one in self.messages.values():
            if one.state == "leased" and one.lapsed:
                one.state = "dead" if one.attempts >= MAX_ATTEMPTS else "ready"

    @rule()
    def redrive(self) -> None:
        count = self.run(self.mailbox.redrive("acme", Filter(), reason="again", principal="user:marta"))
        dead = [(key, one) for key, one in sorted(self.messages.items()) if one.state == "dead"]
        assert count == len(dead)
        for _, one in dead:
            self.lines += 1
            one.state, one.attempts, one.line, one.token = "ready", 0, self.lines, None
        if self.paused and dead:
            self.run(self._hold())

    async def _hold(self) -> None:
        async with self.pool.acquire() as conn:
            await standing.hold(conn, "acme", "refund-watch", "paused")

    @rule()
    def pause(self) -> None:
        self.run(self._hold())
        self.paused = True

    @rule()
    def unpause(self) -> None:
        async def unhold() -> None:
            async with self.pool.acquire() as conn:
                await standing.unhold(conn, "acme", "refund-watch", "paused")
            # As the reaper does: whom the pause had told is told by the stop.
            await stop.settle(self.pool)

        self.run(unhold())
        self.paused = False

    @rule(on=st.booleans())
    def stop(self, on: bool) -> None:
        if on:
            self.run(stop.engage(self.pool, "acme", reason="drill", principal="user:marta"))
        else:
            self.run(stop.release(self.pool, "acme"))
        self.stopped = on

    @rule()
    def crash(self) -> None:
        """The process that served the mailbox is gone, with all that it knew."""
        self.mailbox = Mailbox(self.pool)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        if not hasattr(self, "pool"):
            return
        rows = self.run(self.pool.fetch("select id, state, attempts from mailbox.standing"))
        assert {row["id"]: row["state"] for row in rows} == {k: m.state for k, m in self.messages.items()}
        for row in rows:
            assert row["attempts"] == self.messages[row["id"]].attempts

    @invariant()
    def limits_hold(self) -> None:
        leased = [one for one in self.messages.values() if one.state == "leased"]
        assert len(leased) <= LIMIT
        keys = [one.key for one in leased if one.key is not None]
        assert len(keys) == len(set(keys))


def test_no_sequence_of_moves_tells_the_mailbox_from_its_model(engines: Engines) -> None:
    model = type("ModelHere", (Model,), {"dsn": engines.dsn})
    run_state_machine_as_test(
        model,
        settings=settings(
            max_examples=20,
            stateful_step_count=30,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
