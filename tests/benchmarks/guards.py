"""Guarded deposits per second: from the ingress stream through all seven guards to the committed message.

Run by `make bench-guards`, against PgQueuer's plain batch insert in the same rounds on the same server. Each of 200 subscriptions
has three levels of budget, a cooldown and a storm limit, half of them a CEL filter, a tenth a batch with a key; each event of
0.7 KB is distinct and concerns one of them. Fails when a bound is missed or the stored verdicts are not as many as the events.
"""

import argparse
import asyncio
import contextlib
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.subscriptions.snapshot import CatalogObject
from tests import engines as running_engines
from tests.benchmarks.figures import Bound, ratios
from tests.benchmarks.peers import PgQueuer
from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane, open_plane
from tests.passages import NOON, TENANT, declared, received
from tests.waiting import until

EVENTS, ROUNDS, BATCH, SUBSCRIPTIONS = 6_000, 3, 500, 200
REST = timedelta(seconds=1)
PADDING = "x" * 300
NUMBERS = count(1)


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


async def publish(plane: Plane, number: int, subscriptions: int) -> None:
    """Into the stream, as many a message as the gateway groups at most."""
    made = list(events(number, subscriptions))
    for start in range(0, len(made), BATCH):
        await plane.publish_bytes(dumps_batch(made[start : start + BATCH]))


async def verdicts(plane: Plane) -> int:
    return await plane.count("execution.verdict")


async def decide(plane: Plane, number: int) -> float:
    """Seconds until as many more verdicts are stored."""
    before = await verdicts(plane)
    stop = asyncio.Event()
    consumer = plane.consumer()
    began = time.perf_counter()
    running = asyncio.create_task(consumer.run(stop))

    async def decided() -> bool:
        return await verdicts(plane) >= before + number

    await until(decided)
    took = time.perf_counter() - began
    stop.set()
    await running
    assert await verdicts(plane) == before + number, "stored verdicts are not as many as the events"
    return took


async def run(engines: Engines, peer_dsn: str, rounds: int) -> int:
    """Every round measures the peer and us; prints the figures and says whether they are reached."""
    peer = PgQueuer(BATCH)
    await peer.open(peer_dsn)
    theirs, ours = [], []
    async with open_plane(engines) as plane:
        await plane.in_force(*objects(SUBSCRIPTIONS))
        for number in range(rounds + 1):
            await publish(plane, EVENTS, SUBSCRIPTIONS)
            took = await decide(plane, EVENTS)
            jobs = peer.make(EVENTS)
            began = time.perf_counter()
            await peer.deposit(jobs, BATCH)
            enqueued = time.perf_counter() - began
            # The first round warms up both.
            if number:
                ours.append(EVENTS / took)
                theirs.append(EVENTS / enqueued)
                sys.stdout.write(f"guarded {ours[-1]:8.0f}/s   pgqueuer enqueue {theirs[-1]:8.0f}/s\n")
        many = await _flat(plane, rounds)
    await peer.close()
    sys.stdout.write(f"median {statistics.median(ours):.0f} guarded deposits/s, one process\n")
    reached = Bound("guarded deposit / pgqueuer batch enqueue", 0.25, 0.4).show(ratios(ours, theirs))
    return (
        0
        if Bound("time an event, 100,000 subscriptions / 100", 1.3, 1.1, at_most=True).show(many) and reached
        else 1
    )


async def _flat(plane: Plane, rounds: int) -> list[float]:
    """Time of an event among 100,000 subscriptions against that among 100."""
    times: dict[int, float] = {}
    for subscriptions in (100, 100_000):
        await plane.in_force(*objects(subscriptions))
        taken = []
        for _ in range(rounds):
            await publish(plane, EVENTS // 2, 100)
            taken.append(await decide(plane, EVENTS // 2))
        times[subscriptions] = statistics.median(taken)
    return [times[100_000] / times[100]]


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
        return asyncio.run(run(ours, theirs.dsn, given.rounds))


if __name__ == "__main__":
    sys.exit(main())
