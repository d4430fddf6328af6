"""Gauges over a real database: what they say, and that neither subscriptions nor messages make them more or dearer."""

from collections.abc import Iterable

import pytest

from sereno.envelope.encode import flat
from sereno.execution_plane.gauges import standing
from sereno.execution_plane.gauges.budgets import budgets
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.delivery import deliver
from sereno.execution_plane.pipeline.directory import Directory
from sereno.mailbox import gauges, stop
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine.readings import Reading
from sereno.mailbox.lease_items import ParkItem
from sereno.mailbox.verbs import Mailbox
from tests.integration.pipeline.conftest import Plane
from tests.mailbox_messages import message
from tests.passages import TENANT, declared, received

SERIES = tuple[str, tuple[str, ...]]


def shown(readings: Iterable[Reading]) -> dict[SERIES, float]:
    return {(name, tuple(labels)): value for name, labels, value in readings}


async def everything(plane: Plane, directory: Directory) -> dict[SERIES, float]:
    """What a pipeline and the listeners would show."""
    pool = plane.pool
    looks = (
        gauges.mailboxes(pool),
        gauges.outbox(pool, "execution"),
        standing.guards(pool),
        standing.sources(pool),
        standing.manifests(plane.catalog),
        budgets(pool, directory),
        standing.Transactions(pool).look,
    )
    return shown([reading for look in looks for reading in await look()])


async def test_what_lies_in_mailboxes_and_for_how_long(plane: Plane) -> None:
    async with plane.pool.acquire() as conn:
        await deposit(conn, [message() for _ in range(5)])
    mailbox = Mailbox(plane.pool)
    first, _ = await mailbox.claim(TENANT, "triage", max=2, incarnation="i")
    await mailbox.park([ParkItem(first.lease.token, "question", "Which?", ("a", "b"))])
    await plane.pool.execute(
        "update mailbox.work set ready_at = ready_at - interval '1 hour' where state = 'ready'"
    )
    await stop.engage(plane.pool, "other", reason="enough", principal="user:marta")
    found = shown(await gauges.mailboxes(plane.pool)())
    states = {
        labels[1]: value for (name, labels), value in found.items() if name == "sereno.mailbox.messages"
    }
    assert states == {"ready": 3, "delayed": 0, "leased": 1, "parked": 1, "dead": 0}
    assert found["sereno.mailbox.parked", (TENANT, "question")] == 1
    assert 3600 <= found["sereno.mailbox.oldest_ready", (TENANT,)] < 3700
    assert 0 < found["sereno.mailbox.oldest_lease", (TENANT,)] < 100
    assert 0 < found["sereno.mailbox.oldest_parked", (TENANT,)] < 100
    assert found["sereno.stop.engaged", (TENANT,)] == 0
    await stop.engage(plane.pool, "*", reason="enough", principal="user:marta")
    assert shown(await gauges.mailboxes(plane.pool)())["sereno.stop.engaged", ("*",)] == 1


async def test_an_instant_that_nobody_decides_is_seen(plane: Plane) -> None:
    await plane.in_force(declared())
    await plane.pool.execute(
        "insert into execution.due_instant (tenant_id, schedule, instant, subscription, receiptid, emitted)"
        " select $1, gen_random_uuid(), clock_timestamp() - age, 's', gen_random_uuid(), clock_timestamp() - age"
        " from unnest(array[interval '5 s', interval '2 min', interval '3 min']) as age",
        TENANT,
    )
    found = shown(await standing.sources(plane.pool)())
    assert found["sereno.schedule.unaccounted", (TENANT, "time")] == 2
    assert found["sereno.schedule.unaccounted", (TENANT, "calendar")] == 0
    assert found["sereno.schedule.active", (TENANT, "time")] == 0


async def test_a_budget_shows_how_full_it_is_and_names_nobody(plane: Plane) -> None:
    await plane.in_force(declared(limits={"budget": {"activations": "4/hour"}}))
    directory = Directory(plane.catalog)
    one = received(1)
    arrivals = [Arrival(one, flat(one), directory.index.match(one, flat(one)), 0)]
    assert shown(await budgets(plane.pool, directory)()) == {
        ("sereno.budget.used", (TENANT, "subscription", "activations")): 0
    }
    async with plane.pool.acquire() as conn, conn.transaction():
        await deliver(conn, arrivals, directory.policy_valid_until())
    assert shown(await budgets(plane.pool, directory)()) == {
        ("sereno.budget.used", (TENANT, "subscription", "activations")): 0.25
    }


async def test_a_transaction_that_stands_is_seen_from_look_to_look(plane: Plane) -> None:
    transactions = standing.Transactions(plane.pool)
    async with plane.pool.acquire() as conn, conn.transaction():
        await conn.fetchval("select pg_current_xact_id()")
        # A later one ends: what it wrote is what followers may not read yet.
        await plane.pool.fetchval("select pg_current_xact_id()")
        await transactions.look()
        [reading] = await transactions.look()
        assert reading.value > 0
    [reading] = await transactions.look()
    assert reading.value == 0


@pytest.mark.req(157)
async def test_neither_subscriptions_nor_messages_add_a_series(plane: Plane) -> None:
    budget = {"budget": {"activations": "100000/day"}}
    await plane.in_force(declared("s0", limits=budget))
    directory = Directory(plane.catalog)
    async with plane.pool.acquire() as conn:
        await deposit(conn, [message()])
    before = await everything(plane, directory)
    await plane.in_force(*(declared(f"s{number}", limits=budget) for number in range(100)))
    async with plane.pool.acquire() as conn:
        await deposit(conn, [message() for _ in range(500)])
    after = await everything(plane, directory)
    assert before.keys() == after.keys()
    assert after["sereno.mailbox.messages", (TENANT, "ready")] == 501
    assert not [labels for _, labels in after if any("s0" in value or "triage" in value for value in labels)]
