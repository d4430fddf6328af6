"""Live and simulated decisions are equal on the same input: the same deciders, asked through both shells."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import orjson
import pytest

from sereno.execution_plane.pipeline import commit
from sereno.execution_plane.pipeline.rebuilding import compare
from sereno.execution_plane.simulate.control import do
from sereno.execution_plane.simulate.declared import Refused, declare
from sereno.execution_plane.simulate.lines import Line, OfLease, Received, read
from sereno.execution_plane.simulate.world import World
from sereno.subscriptions import documents
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.snapshot import CatalogObject
from tests.integration.pipeline.conftest import Plane
from tests.live_world import AGAIN, LiveWorld, told
from tests.passages import NOON, receiptid
from tests.simulating import declared, watch

SEEDS = range(12)
CHOICES = ((None, "deliver", "drop", "review"), ("deliver", "drop"))
EVENTS = 30
CUSTOMERS, SUBJECTS, ACTORS = ("ann", "bob"), ("t-1", "t-2"), ("bot-a", "bot-b", None)


def world_of(tenant: str, dice: random.Random) -> list[dict[str, Any]]:
    """A tenant with an agent and three subscriptions whose limits are thrown."""
    budget = {"activations": f"{dice.randrange(3, 12)}/hour"}
    spec: dict[str, Any] = {"zone": "Europe/Madrid", "reserve": "0.10 EUR"}
    if dice.random() < 0.5:
        spec["budget"] = {"cost": {"limit": f"{dice.randrange(1, 3)}.00 EUR/day"}}
    found = [
        declared("Tenant", tenant, **spec),
        declared("Agent", "triage", tenant, owner="user:marta", adapter="pull", budget=budget),
    ]
    return found + [watch(f"watch-{n}", tenant, **_spec(n, dice)) for n in range(3)]


def _spec(number: int, dice: random.Random) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if dice.random() < 0.5:
        limits["cooldown"] = {"every": dice.choice(["2m", "20m"]), "then": dice.choice(["drop", "batch"])}
    if dice.random() < 0.5:
        limits["batch"] = {
            "window": "3m",
            "max_wait": dice.choice(["5m", "30m"]),
            "max_items": dice.choice([2, 5]),
            **({"by": "data.customer"} if dice.random() < 0.5 else {}),
        }
    if dice.random() < 0.4:
        limits["storm"] = {"threshold": f"{dice.randrange(3, 8)}/min", "per_object": "4/min"}
    if dice.random() < 0.3:
        limits["budget"] = {"activations": f"{dice.randrange(2, 6)}/hour", "cost": {"limit": "0.60 EUR/hour"}}
    if dice.random() < 0.3:
        limits["quiet_hours"] = {
            "zone": "UTC",
            "from": "12:10",
            "to": "12:40",
            "then": dice.choice(["drop", "batch"]),
        }
    if dice.random() < 0.3:
        limits["max_occurrences"] = dice.randrange(2, 8)
    limits["when_busy"] = dice.choice(["queue", "queue", "drop", "merge"])
    spec: dict[str, Any] = {"limits": limits, "sender": dice.choice(["any", "any", "verified"])}
    if dice.random() < 0.3:
        spec["filters"] = [{"cel": "data.customer == 'ann'"}]
    # A lease of the database ends by its own clock, so here none ends.
    spec["delivery"] = {"lease": "11h", "max_run": "11h"}
    if dice.random() < 0.3:
        # An agent's mailbox has one line a key, whichever subscription asks.
        spec["delivery"]["serial_by"] = f"'{number}/' + data.customer"
    return spec


def lines_of(tenant: str, seed: int, dice: random.Random) -> Iterator[dict[str, Any]]:
    """Events in bursts and pauses, claims and acknowledgements, a person who resumes, and a stop."""
    at = NOON
    leases = 0
    for number in range(EVENTS):
        at += timedelta(seconds=dice.choice([0, 1, 5, 20, 70, 400]))
        yield _event(tenant, seed, number, at, dice)
        roll = dice.random()
        if roll < 0.25:
            yield {"at": at.isoformat(), "do": "claim", "agent": "triage", "max": 1000, "lease": "11h"}
        elif roll < 0.45:
            leases += 1
            usage = {"cost": dice.choice(["0.05 EUR", "0.25 EUR", "1 USD"])} if dice.random() < 0.7 else None
            yield {"at": at.isoformat(), "do": "ack", "lease": f"L{leases}", "usage": usage}
        elif roll < 0.6:
            # What is kept for review a simulation lets go with the next stop that ends; the live shell asks a person.
            name, held = f"watch-{dice.randrange(3)}", dice.choice(CHOICES[seed % 2])
            yield {"at": at.isoformat(), "do": "resume", "subscription": name, "reason": "calm", "held": held}
        elif roll < 0.66 and seed % 2:
            yield {"at": at.isoformat(), "do": dice.choice(["stop", "release"]), "scope": f"tenant:{tenant}"}
    yield {"at": (at + timedelta(hours=2)).isoformat(), "do": "advance"}


def _event(tenant: str, seed: int, number: int, at: datetime, dice: random.Random) -> dict[str, Any]:
    identity = number if dice.random() < 0.85 else max(0, number - 1)
    actor = dice.choice(ACTORS)
    return {
        "specversion": "1.0",
        "id": f"e-{number}",
        "source": "/zendesk",
        "type": "com.zendesk.ticket",
        "origin": "webhook/zendesk",
        "tenantid": tenant,
        "time": at.isoformat(),
        "recordedtime": at.isoformat(),
        "receiptid": receiptid(seed * 1000 + number),
        "dedupkey": f"key-{identity}",
        "trust": dice.choice(["authenticated", "authenticated", "untrusted"]),
        "subject": dice.choice(SUBJECTS),
        "data": {"customer": dice.choice(CUSTOMERS)},
        **({"actor": actor} if actor else {}),
        **({"hops": 9} if dice.random() < 0.05 else {}),
    }


def objects_of(read_documents: tuple[Document, ...]) -> list[CatalogObject]:
    """The declared objects as a manifest would bring them."""
    return [
        CatalogObject(
            kind=one.kind,
            tenant=one.tenant,
            name=one.metadata.name,
            id=str(uuid5(NAMESPACE_URL, f"{one.tenant}/{one.kind}/{one.metadata.name}")),
            version=1,
            state="active",
            spec=one.canonical(),
            created_by="user:marta",
            updated_at=NOON,
        )
        for one in read_documents
    ]


class SimulatedWorld(World):
    """A world that notes its decisions as the guards gave them, with ids in place of names."""

    told: list[Any]

    def decided(self, passage: Any, arrival: Any, at: datetime) -> Iterator[Any]:
        again = passage.given.activation.entry == "held"
        line = told(arrival.envelope.id, passage.subscription.name, passage.decided)
        self.told.append((*line[:5], AGAIN) if again else line)
        yield from super().decided(passage, arrival, at)


def simulated(world: SimulatedWorld, line: Line) -> list[dict[str, Any]]:
    """What one line prints, with what comes due around it; Refused when it cannot be done."""
    said = list(world.pass_time(line.at))
    if isinstance(line, Received):
        said += world.arrive(line.arrival(world.index), line.at)
    else:
        said += do(world, line)
    return said + list(world.pass_time(line.at))


@pytest.mark.req(1, 100, 115, 153)
async def test_both_shells_decide_alike(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    # What waits for somebody is asked when that happens, as a simulation does, and not from time to time.
    monkeypatch.setattr(commit, "FROZEN", timedelta(days=3650))
    monkeypatch.setattr(commit, "BUSY", timedelta(days=3650))
    for seed in SEEDS:
        await both_shells(plane, seed)


async def both_shells(plane: Plane, seed: int) -> None:
    """Do the lines of one seed in both shells; each decision is the same, and so is what is remembered at the end."""
    tenant, dice = f"tenant-{seed}", random.Random(seed)
    parsed = documents.parse(b"\n---\n".join(map(orjson.dumps, world_of(tenant, dice))))
    assert not isinstance(parsed, Faults), list(parsed)
    await plane.in_force(*objects_of(parsed), tenant=tenant)
    world = SimulatedWorld({one.key: one for one in declare(parsed, NOON)})
    world.told = []
    live = LiveWorld(plane.pool, plane.catalog, tenant, NOON)
    said: list[dict[str, Any]] = []
    for _, line in read(map(orjson.dumps, lines_of(tenant, seed, dice)), tenant=tenant):
        leased = world.mailbox.message_of(line.lease) if isinstance(line, OfLease) else None
        if isinstance(line, OfLease) and leased is None:
            continue
        try:
            said += simulated(world, line)
        except Refused:
            # Nothing to resume, no stop to release: it is left out of both, but time has passed.
            await live.pass_time(line.at)
            continue
        await live.do(line, None if leased is None else leased.id)
        assert _difference(live.told, world.told) is None, (seed, _difference(live.told, world.told))
    await _same_state(world, live, said)
    # And it is what the log tells, folded again from nothing.
    assert await compare(plane.pool, live.clock) == [], seed


def _difference(live: list[Any], simulated: list[Any]) -> tuple[Any, Any] | None:
    """The first decision that is not the same; what a person dropped is printed by one shell alone."""
    both = [
        [line for line in lines if line[5] != AGAIN or line[2] != "dropped"] for lines in (live, simulated)
    ]
    return next((pair for pair in zip_longest(*both) if pair[0] != pair[1]), None)


async def _same_state(world: SimulatedWorld, live: LiveWorld, said: list[dict[str, Any]]) -> None:
    """What is remembered afterwards is the same, row by row."""
    ledger = world.ledger
    memories = await live.memories()
    assert {name: tuple(memory) for (_, name), memory in ledger.memories.items()} == {
        name: memory for name, memory in memories.items() if name in {key[1] for key in ledger.memories}
    }
    subjects = {key[1:]: tuple(memory) for key, memory in ledger.subjects.items()}
    assert subjects == await live.subjects()
    assert {account: used for account, used in ledger.budgets.items() if used} == await live.budgets()
    batches = (*ledger.batches.values(), *ledger.sealed.values())
    assert {str(b.id): (b.key, b.items, b.size, b.sealed) for b in batches} == await live.open_batches()
    open_ones = {(str(one.id), one.cause, one.subject) for own in ledger.suspensions.values() for one in own}
    assert open_ones == await live.suspensions()
    flushed = sorted(tuple(one["events"]) for one in said if one["kind"] == "flush")
    assert flushed == sorted(events for _, events in live.flushed)
