"""The order of locks under load, run by `make torture-deadlock`: no two transactions ever wait for each other.

Each round lets four pipelines deliver, four holders end leases, the reaper, the flusher of batches, the reconciler of
budgets, the releaser of what was held, a person who lifts suspensions, a stop, a pause and a redrive work on the same few
subscriptions at once; these share the budgets of an agent and of their tenant. PostgreSQL counts the deadlocks that it found.
"""

import argparse
import asyncio
import itertools
import os
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from sereno.envelope.encode import flat
from sereno.execution_plane.accounts.reconciling import Reconciler
from sereno.execution_plane.agent_events import AgentEvents
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.catalog.tenant import picture
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.delivery import deliver
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.flushing import flush_batches
from sereno.execution_plane.pipeline.lifting import lift
from sereno.execution_plane.pipeline.matcher import Match
from sereno.execution_plane.pipeline.release import Releaser
from sereno.execution_plane.pipeline.settling import Settler
from sereno.mailbox import limits, standing, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.lease_items import AckItem, EmitItem, ParkItem, ReleaseItem, RenewItem
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake
from sereno.subscriptions import snapshot
from sereno.subscriptions.snapshot import CatalogObject, Lift, Manifest
from tests.passages import NOON, TENANT, declared, received
from tests.torture.crashing_postgres import crashing_postgres

PIPELINES = 4
ACKERS = 4
EVENTS = 6
SHOWN_EVERY = 100
NAMES = [f"watch-{n}" for n in range(4)]
AGENTS = ("support-triage", "billing")
SCOPES = ("*", TENANT, f"{TENANT}/agent/billing", f"{TENANT}/subscription/watch-0")
DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"
WHO: dict[str, Any] = {"reason": "drill", "principal": "user:marta"}
LIMITS: tuple[dict[str, Any], ...] = (
    {"budget": {"activations": "100000/min"}, "storm": {"threshold": "400/min", "per_object": "300/min"}},
    {"cooldown": {"every": "1s", "then": "batch"}, "budget": {"activations": "300/min"}},
    {"batch": {"window": "1s", "max_items": 5, "by": "subject"}, "when_busy": "merge"},
    {"when_busy": "drop", "budget": {"cost": {"limit": "20.00 EUR/min"}}},
)


def objects() -> list[CatalogObject]:
    """A tenant and an agent with budgets of their own, and four subscriptions with limits of every kind."""
    tenant = {"zone": "UTC", "reserve": "0.01 EUR", "budget": {"activations": "1000000/min"}}
    agent = {"owner": "user:marta", "adapter": "pull", "budget": {"cost": {"limit": "9000.00 EUR/min"}}}
    around = [("Tenant", TENANT, tenant), *(("Agent", name, agent) for name in AGENTS)]
    made = [
        CatalogObject.model_validate(
            {
                "kind": kind,
                "tenant": TENANT,
                "name": name,
                "id": name,
                "version": 1,
                "state": "active",
                "spec": spec,
                "created_by": "user:marta",
                "updated_at": NOON,
            }
        )
        for kind, name, spec in around
    ]
    return made + [
        declared(name, agent=f"agent:{AGENTS[n % 2]}", limits=LIMITS[n], delivery=_delivery(n))
        for n, name in enumerate(NAMES)
    ]


def _delivery(number: int) -> dict[str, Any]:
    return {"serial_by": "subject"} if number == 0 else {}


def directory() -> Directory:
    """These objects as a process of the execution plane knows them."""
    entries = {snapshot.key(one): snapshot.entry(one) for one in objects()}
    manifest = Manifest(
        tenant=TENANT,
        epoch=1,
        version=1,
        issued_at=NOON,
        valid_until=NOON.replace(year=2099),
        root=snapshot.root(entries),
        entries=entries,
        key_id="torture",
    )
    return Directory(Catalog([picture(manifest, objects())]))


@dataclass(slots=True)
class Rounds:
    """The participants over one pool; `happened` counts what they did, `deadlocks` what they ran into."""

    pool: AnyPool
    dice: random.Random
    happened: Counter[str] = field(default_factory=Counter)
    deadlocks: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    directory: Directory = field(default_factory=directory)

    @property
    def watches(self) -> list[Subscription]:
        return self.directory.index.of_tenant(TENANT)

    async def round(self) -> None:
        """Everybody at once."""
        mailbox = Mailbox(self.pool, emitter=AgentEvents(os.urandom))
        moves: list[Callable[[], Awaitable[None]]] = [self._deliver] * PIPELINES
        moves += [lambda: self._end(mailbox)] * ACKERS
        moves += [self._reap, lambda: self._redrive(mailbox), self._flush, self._reconcile, self._lift]
        moves += [self.dice.choice((self._stop, self._pause))]
        self.dice.shuffle(moves)
        await asyncio.gather(*(self._counted(move) for move in moves))

    async def _counted(self, move: Callable[[], Awaitable[None]]) -> None:
        try:
            await move()
        except asyncpg.DeadlockDetectedError:
            self.deadlocks += 1

    async def _deliver(self) -> None:
        """Events that concern several subscriptions each, in an order of their own."""
        arrivals = [self._arrival() for _ in range(EVENTS)]
        async with self.pool.acquire() as conn, conn.transaction():
            delivered = await deliver(conn, arrivals, {})
        self.happened["delivered"] += len(delivered.messages)

    def _arrival(self) -> Arrival:
        envelope = received(
            next(self.numbers), subject=self.dice.choice(("t-1", "t-2")), actor=self.dice.choice(("a", "b"))
        )
        concerned = self.dice.sample(self.watches, self.dice.randrange(1, len(self.watches) + 1))
        return Arrival(envelope, flat(envelope), [Match(one) for one in concerned], 1)

    async def _end(self, mailbox: Mailbox) -> None:
        agent = self.dice.choice(AGENTS)
        got = await mailbox.claim(TENANT, agent, max=12, lease_seconds=600, incarnation="w")
        tokens = [one.lease.token for one in got]
        self.dice.shuffle(tokens)
        if not tokens:
            return
        await mailbox.renew([RenewItem(token) for token in tokens])
        await mailbox.emit([EmitItem(token, "com.acme.said") for token in tokens[:2]])
        third = len(tokens) // 3
        usage = {"cost": "0.02 EUR"}
        await mailbox.ack([AckItem(token, None, usage) for token in tokens[: third + 1]])
        if third:
            reason = self.dice.choice(("busy", "rejected"))
            await mailbox.release([ReleaseItem(token, reason) for token in tokens[third + 1 : 2 * third + 1]])
            await mailbox.park([ParkItem(tokens[-1], "approval")])
            parked = await self.pool.fetch("select id from mailbox.work where state = 'parked' limit 5")
            for row in parked:
                await mailbox.resume(TENANT, row["id"], {}, "user:marta")
        self.happened["ended"] += len(tokens)

    async def _reap(self) -> None:
        await self.pool.execute(
            "update mailbox.work set leased_until = clock_timestamp() where id in ("
            "select id from mailbox.work where state = 'leased' order by token limit 3 for update skip locked)"
        )
        self.happened["reaped"] += await Reaper(self.pool).sweep()

    async def _flush(self) -> None:
        """Every open batch, whether it is due or not."""
        rows = await self.pool.fetch(
            "select tenant_id, id, subscription from execution.batch where closed_at is null"
        )
        keys = [(row["tenant_id"], row["id"], row["subscription"]) for row in rows]
        self.dice.shuffle(keys)
        if keys:
            async with self.pool.acquire() as conn, conn.transaction():
                self.happened["flushed"] += len(await flush_batches(conn, keys, self.directory))

    async def _reconcile(self) -> None:
        self.happened["reconciled"] += await Reconciler(self.pool, self.directory).round()

    async def _lift(self) -> None:
        """A person ends what suspends, and what was held enters again."""
        rows = await self.pool.fetch(
            "select id, subscription from execution.suspension where ended_at is null"
        )
        lifts = [
            Lift(
                suspension=row["id"],
                subscription=row["subscription"],
                held=self.dice.choice(("deliver", "drop")),
                by="user:marta",
                reason="drill",
                at=NOON,
            )
            for row in rows
        ]
        async with self.pool.acquire() as conn, conn.transaction():
            await lift(conn, TENANT, lifts)
        released = Releaser(self.pool, Catalog(), Wake(None), self.directory)
        self.happened["released"] += await released.look()
        self.happened["settled"] += await Settler(self.pool).look()
        self.happened["lifted"] += len(lifts)

    async def _redrive(self, mailbox: Mailbox) -> None:
        self.happened["redriven"] += await mailbox.redrive(
            TENANT, Filter(), reason="again", principal="user:marta"
        )

    async def _stop(self) -> None:
        scope = self.dice.choice(SCOPES)
        await stop.engage(self.pool, scope, **WHO)
        await stop.release(self.pool, scope)
        self.happened["stopped"] += 1

    async def _pause(self) -> None:
        name = self.dice.choice(NAMES)
        async with self.pool.acquire() as conn:
            await standing.hold(conn, TENANT, name, "paused")
        async with self.pool.acquire() as conn:
            await standing.unhold(conn, TENANT, name, "paused")
        self.happened["paused"] += 1


async def run(dsn: str, rounds: int, seed: int) -> Rounds:
    """So many rounds; the deadlocks are those that clients saw and those that the server counted."""
    pool = await open_pool(dsn, application_name="deadlock", max_size=16)
    async with pool:
        before: int = await pool.fetchval(DEADLOCKS)
        async with pool.acquire() as conn, conn.transaction():
            await limits.set_concurrency(conn, TENANT, AGENTS[0], 30)
        done = Rounds(pool, random.Random(seed))
        for number in range(1, rounds + 1):
            await done.round()
            if number % SHOWN_EVERY == 0:
                sys.stderr.write(f"{number} rounds, {done.deadlocks} deadlocks so far\n")
        # The server's statistics are written when a backend is idle, and read here from a fresh snapshot.
        counted: int = await pool.fetchval(DEADLOCKS)
        done.deadlocks = max(done.deadlocks, counted - before)
        return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    with crashing_postgres() as postgres:
        done = asyncio.run(run(postgres.execution, given.rounds, given.seed))
    sys.stdout.write(f"seed {given.seed}\n{_line(done.happened.items())}\n")
    sys.stdout.write(f"{given.rounds} rounds, {done.deadlocks} deadlocks\n")
    return 1 if done.deadlocks else 0


def _line(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts))


if __name__ == "__main__":
    sys.exit(main())
