"""Guarded deposits per second: from the ingress stream through all seven guards to the committed message.

Run by `make bench-guards`, against PgQueuer's plain batch insert in the same rounds on the same server. Each of 200 subscriptions
has three levels of budget, a cooldown and a storm limit, half of them a CEL filter, a tenth a batch with a key; each event of
0.7 KB is distinct and concerns one of them. Prints what each guard costs. Fails when a bound is missed or the stored
verdicts are not as many as the events.
"""

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import uvloop

from sereno.envelope.encode import dumps_batch, flat
from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards import GUARDS, Ledger, Subscription
from sereno.execution_plane.guards.tenancy import of_tenant
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.collector import collect_seldom
from sereno.execution_plane.pipeline.directory import compile_object
from sereno.execution_plane.pipeline.matcher import Index
from sereno.execution_plane.pipeline.resolution import Resolution, keyed
from sereno.execution_plane.pipeline.round import Setting
from sereno.subscriptions.models import AgentSpec, TenantSpec
from sereno.subscriptions.snapshot import CatalogObject
from tests import engines as running_engines
from tests.benchmarks.figures import Bound, ratios
from tests.benchmarks.peers import PgQueuer
from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane, open_plane
from tests.passages import NOON, TENANT, declared, received
from tests.waiting import until

EVENTS, ROUNDS, BATCH, SUBSCRIPTIONS, MANY = 6_000, 3, 500, 200, 100_000
REST = timedelta(seconds=1)
PADDING = "x" * 300
NUMBERS = count(1)
_DECIDED = "select count(*) from execution.receipt where tenant_id = $1 and receiptid = any($2::uuid[])"

Peer = Callable[[int], Awaitable[float]]
"""Puts so many jobs into the peer's queue, and says how many seconds that took."""
Rates = tuple[list[float], list[float]]


def objects(subscriptions: int) -> list[CatalogObject]:
    """A tenant, an agent and their subscriptions, two an endpoint: one takes a type, the other asks an expression."""
    budget: dict[str, Any] = {
        "activations": "100000000/day",
        "cost": {"limit": "10000000.00 EUR/day", "reserve": "0.01 EUR"},
    }
    around = [
        ("Tenant", TENANT, {"zone": "Europe/Madrid", "reserve": "0.01 EUR", "budget": budget}),
        ("Agent", "support-triage", {"owner": "user:marta", "adapter": "pull", "budget": budget}),
    ]
    made = [
        CatalogObject(
            kind=kind,
            tenant=TENANT,
            name=name,
            id=name,
            version=1,
            state="active",
            spec=spec,
            created_by="user:marta",
            updated_at=NOON,
        )
        for kind, name, spec in around
    ]
    return made + [_subscription(number, budget) for number in range(subscriptions)]


def _subscription(number: int, budget: dict[str, Any]) -> CatalogObject:
    limits: dict[str, Any] = {
        "budget": budget,
        "cooldown": {"every": "1s"},
        "storm": {"threshold": "1000000/min"},
    }
    if number % 10 == 0:
        limits |= {"batch": {"window": "1s", "max_items": 10, "by": "data.customer"}}
        del limits["cooldown"]
    asked = (
        {"cel": 'data.priority == "high"'} if number % 2 else {"exact": {"type": "com.zendesk.ticket.low"}}
    )
    return declared(
        f"watch-{number}",
        source={"webhook": {"endpoint": f"desk-{number // 2}"}},
        filters=[asked],
        limits=limits,
    )


def events(number: int, subscriptions: int) -> Iterator[Envelope]:
    """So many distinct events, each for one subscription, of each of them at least a cooldown apart."""
    dice = random.Random(number)
    for _ in range(number):
        place = next(NUMBERS)
        target = place % min(subscriptions, SUBSCRIPTIONS)
        high = bool(target % 2)
        envelope = received(
            place,
            origin=f"webhook/desk-{target // 2}",
            type_="com.zendesk.ticket.high" if high else "com.zendesk.ticket.low",
            after=place // SUBSCRIPTIONS * 2 * REST,
            subject=f"ticket-{place % 997}",
            data={
                "priority": "high" if high else "low",
                "customer": f"customer-{dice.randrange(20)}",
                "text": PADDING,
            },
        )
        yield replace(envelope, receiptid=str(UUID(int=UUID(envelope.receiptid).int + (place << 32))))


async def publish(plane: Plane, number: int, subscriptions: int) -> list[str]:
    """Into the stream, as many a message as the gateway groups at most; the last receipt of each."""
    made = list(events(number, subscriptions))
    parts = [made[start : start + BATCH] for start in range(0, number, BATCH)]
    for part in parts:
        await plane.publish_bytes(dumps_batch(part))
    return [part[-1].receiptid for part in parts]


class Processes:
    """So many processes of the pipeline, which consume while they are told to."""

    def __init__(self, engines: Engines, number: int) -> None:
        environment = {
            **os.environ,
            "BENCH_DSN": engines.execution_dsn,
            "BENCH_NATS": engines.nats,
            "BENCH_SEED": engines.seed("pipeline") or "",
        }
        command = [sys.executable, "-m", "tests.benchmarks.guards_pipeline"]
        self._all = [
            subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(number)
        ]

    def tell(self, word: str) -> None:
        """One line to each."""
        for process in self._all:
            if process.stdin is not None:
                process.stdin.write(word + "\n")
                process.stdin.flush()

    def rest(self) -> None:
        """Let each finish what it has begun."""
        self.tell("rest")
        for process in self._all:
            if process.stdout is None or process.stdout.readline().strip() != "rests":
                raise AssertionError("a process of the pipeline ended")

    def close(self) -> None:
        """End them."""
        for process in self._all:
            process.communicate("end\n", timeout=30)


async def decide(plane: Plane, processes: Processes, number: int, subscriptions: int) -> float:
    """Seconds until so many more events are decided; AssertionError when the verdicts stored are not as many."""
    before = await plane.count("execution.verdict")
    last = await publish(plane, number, subscriptions)
    began = time.perf_counter()
    processes.tell("go")

    async def decided() -> bool:
        return bool(await plane.pool.fetchval(_DECIDED, TENANT, last) == len(last))

    await until(decided)
    took = time.perf_counter() - began
    processes.rest()
    stored = await plane.count("execution.verdict") - before
    assert stored == number, f"{stored} verdicts stored of {number} events"
    return took


async def rates(plane: Plane, engines: Engines, processes: int, rounds: int, peer: Peer | None) -> Rates:
    """Events a second of ours in each round, and of the peer in the same rounds; the first warms up."""
    running, ours, theirs = Processes(engines, processes), [], []
    try:
        for number in range(rounds + 1):
            took = await decide(plane, running, EVENTS, SUBSCRIPTIONS)
            enqueued = await peer(EVENTS) if peer is not None else 1.0
            if number:
                ours.append(EVENTS / took)
                theirs.append(EVENTS / enqueued)
    finally:
        running.close()
    return ours, theirs


async def run(engines: Engines, peer_dsn: str, rounds: int, many: int) -> int:
    """Every round measures the peer and us; prints the figures and says whether they are reached."""
    peer = PgQueuer(BATCH)
    await peer.open(peer_dsn)

    async def enqueue(number: int) -> float:
        jobs = peer.make(number)
        began = time.perf_counter()
        await peer.deposit(jobs, BATCH)
        return time.perf_counter() - began

    async with open_plane(engines) as plane:
        await plane.in_force(*objects(SUBSCRIPTIONS))
        ours, theirs = await rates(plane, engines, 1, rounds, enqueue)
        for one, other in zip(ours, theirs, strict=True):
            _say(f"guarded {one:8.0f}/s   pgqueuer enqueue {other:8.0f}/s")
        two, _ = await rates(plane, engines, 2, rounds, None)
        _say(
            f"median {statistics.median(ours):.0f} guarded deposits/s, two processes {statistics.median(two):.0f}"
        )
        flat = await _flat(plane, engines, rounds, many) if many else []
    await peer.close()
    return 0 if _shown(_bounds(ours, theirs, two, flat)) else 1


def _shown(bounds: Iterable[tuple[Bound, list[float]]]) -> bool:
    """Print each; whether all are reached."""
    return sum(not bound.show(found) for bound, found in bounds) == 0


def _bounds(
    ours: list[float], theirs: list[float], two: list[float], flat: list[float]
) -> Iterator[tuple[Bound, list[float]]]:
    yield Bound("guarded deposit / pgqueuer batch enqueue", 0.25, 0.4), ratios(ours, theirs)
    yield Bound("two processes / one", 1.2, 1.4), [statistics.median(two) / statistics.median(ours)]
    yield Bound("time an event, 100,000 subscriptions / 100", 1.3, 1.1, at_most=True), flat


async def _flat(plane: Plane, engines: Engines, rounds: int, many: int) -> list[float]:
    """Time of an event among so many subscriptions against that among 100."""
    times: dict[int, float] = {}
    for subscriptions in (100, many):
        await plane.in_force(*objects(subscriptions))
        processes = Processes(engines, 1)
        try:
            await decide(plane, processes, BATCH, 100)
            taken = [await decide(plane, processes, EVENTS // 2, 100) for _ in range(rounds)]
        finally:
            processes.close()
        times[subscriptions] = statistics.median(taken)
        _say(
            f"among {subscriptions:7,} subscriptions {1e6 * times[subscriptions] / (EVENTS // 2):6.0f} us an event"
        )
    return [times[many] / times[100]]


def guard_costs() -> None:
    """Print what each guard takes of the processor, on the very activations that are decided above."""
    collect_seldom()
    index = Index([_compiled(one) for one in objects(SUBSCRIPTIONS)[2:]])
    arrivals = keyed(
        Arrival(envelope, flat(envelope), index.match(envelope, flat(envelope)), 0)
        for envelope in events(EVENTS // 2, SUBSCRIPTIONS)
    )
    done = Resolution(Ledger(), Setting(datetime.now(UTC), {}))
    began = time.perf_counter()
    done.decide(arrivals)
    whole = time.perf_counter() - began
    given = [passage.given for passage in done.passages]
    for name, guard in GUARDS:
        began = time.perf_counter()
        for one in given:
            guard(*one)
        _say(f"{name:10} {1e6 * (time.perf_counter() - began) / len(given):6.2f} us an event")
    _say(f"all seven, their state and what they write {1e6 * whole / len(given):6.1f} us an event")


def _compiled(declared: CatalogObject) -> Subscription:
    tenant, agent = (one.spec for one in objects(0))
    return compile_object(
        declared,
        tenancy=of_tenant(TenantSpec.model_validate(tenant)),
        agent_budget=AgentSpec.model_validate(agent).budget,
    )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@contextlib.contextmanager
def durable(postgres: str) -> Iterator[None]:
    """The server of the measurements writes to disk before it answers."""
    os.environ["SERENO_TEST_POSTGRES"] = postgres
    try:
        yield
    finally:
        del os.environ["SERENO_TEST_POSTGRES"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--many", type=int, default=MANY, help="subscriptions of the large tenant; 0: leave it out"
    )
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_engines.embedded_postgres(Path(folder, "postgres"), durable=True) as postgres,
        durable(postgres),
        running_engines.servers(Path(folder)) as servers,
        running_engines.databases(servers) as copies,
        running_engines.fresh(servers, copies) as ours,
        running_engines.fresh(servers, copies) as theirs,
    ):
        guard_costs()
        return uvloop.run(run(ours, theirs.dsn, given.rounds, given.many))


if __name__ == "__main__":
    sys.exit(main())
