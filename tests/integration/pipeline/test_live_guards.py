"""What the guards keep in the database: batches, budgets, storms and conditions, by the database's own clock."""

import asyncio
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson
import pytest

from sereno.envelope.decode import loads_envelope
from sereno.envelope.encode import flat
from sereno.envelope.envelope import Envelope
from sereno.execution_plane.accounts.reconciling import Reconciler
from sereno.execution_plane.evaluator import evaluations
from sereno.execution_plane.explain.explanation import Question, explain
from sereno.execution_plane.explain.gather import of_message, of_receipt
from sereno.execution_plane.guards.judgement import EvaluationError, Judged
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.delivery import deliver
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.flushing import Flusher
from sereno.execution_plane.pipeline.lifting import lift
from sereno.execution_plane.pipeline.release import Releaser
from sereno.execution_plane.pipeline.settling import Settler
from sereno.mailbox.engine.bus import ingress_subject
from sereno.mailbox.lease_items import AckItem, ReleaseItem
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake
from sereno.subscriptions.snapshot import CatalogObject, Lift
from tests.integration.pipeline.conftest import Plane
from tests.passages import NOON, TENANT, declared, receiptid, received
from tests.waiting import until

SECOND = timedelta(seconds=1)
AGENT = "support-triage"


async def arrive(plane: Plane, directory: Directory, *envelopes: Envelope) -> list[tuple[str, str]]:
    """Deliver these in one transaction: outcome and reason of each passage."""
    arrivals = [Arrival(one, flat(one), directory.index.match(one, flat(one)), 0) for one in envelopes]
    async with plane.pool.acquire() as conn, conn.transaction():
        done = await deliver(conn, arrivals, directory.policy_valid_until())
    return [(p.decided.outcome, p.decided.reason) for item in done.decided for p in item.passages]


def tenant_object(kind: Any, name: str, **spec: Any) -> CatalogObject:
    return CatalogObject(
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


async def lifted(plane: Plane, held: Any) -> None:
    rows = await plane.rows("select id, subscription from execution.suspension")
    lifts = [
        Lift(
            suspension=r["id"], subscription=r["subscription"], held=held, by="user:m", reason="calm", at=NOON
        )
        for r in rows
    ]
    async with plane.pool.acquire() as conn, conn.transaction():
        await lift(conn, TENANT, lifts)


@pytest.mark.req(105, 106)
async def test_a_batch_is_flushed_by_the_clock_of_the_database_and_explained_by_each_of_its_events(
    plane: Plane,
) -> None:
    """J3, Q45: five events in a window are one message with five event ids and a bounded digest."""
    await plane.in_force(declared(limits={"batch": {"window": "1s", "by": "data.customer"}}))
    directory = Directory(plane.catalog)
    said = await arrive(plane, directory, *(received(n, data={"customer": "ann"}) for n in range(5)))
    assert said == [("merged", "merged")] * 5
    again = await arrive(plane, directory, *(received(n, data={"customer": "ann"}) for n in range(5)))
    assert again == []
    flusher = Flusher(plane.pool, plane.catalog, Wake(None), directory)

    async def flushed() -> bool:
        await flusher.look()
        return await plane.count("mailbox.message") == 1

    await until(flushed)
    assert await flusher.look() == 0
    [message] = await plane.rows("select id, envelopes, context from mailbox.message")
    assert [one["id"] for one in message["envelopes"]] == [f"e-{n}" for n in range(5)]
    assert message["context"]["batch"]["events"] == 5
    async with plane.pool.acquire() as conn:
        of_it = explain(await of_message(conn, TENANT, message["id"]), Question())
        evidence = await of_receipt(conn, TENANT, UUID(receiptid(3)), why_not=False)
    assert len(of_it["decisions"]) == 5
    assert evidence is not None
    assert explain(evidence, Question())["decisions"][0]["delivery"]["state"] == "ready"


@pytest.mark.req(115)
async def test_a_full_batch_leaves_in_the_transaction_that_fills_it(plane: Plane) -> None:
    await plane.in_force(declared(limits={"batch": {"window": "1h", "max_items": 2}}))
    await arrive(plane, Directory(plane.catalog), *(received(n) for n in range(5)))
    rows = await plane.rows("select envelopes from mailbox.message order by order_key")
    assert [[one["id"] for one in row["envelopes"]] for row in rows] == [["e-0", "e-1"], ["e-2", "e-3"]]
    open_ones = await plane.rows("select items from execution.batch where closed_at is null")
    assert open_ones == [{"items": 1}]


@pytest.mark.req(95, 153)
async def test_concurrent_reservations_never_overshoot(plane: Plane) -> None:
    """E2 at three levels: whatever the interleaving, as many leave as fit, and the rest is kept."""
    watches = [
        declared(f"watch-{n}", limits={"budget": {"cost": {"limit": "5.00 EUR/day"}}}) for n in range(4)
    ]
    await plane.in_force(
        tenant_object(
            "Tenant", TENANT, zone="UTC", reserve="0.10 EUR", budget={"cost": {"limit": "1.00 EUR/day"}}
        ),
        tenant_object("Agent", AGENT, owner="user:marta", adapter="pull", budget={"activations": "15/day"}),
        *watches,
    )
    directory = Directory(plane.catalog)
    batches = [[received(10 * b + n) for n in range(4)] for b in range(6)]
    said = await asyncio.gather(*(arrive(plane, directory, *batch) for batch in batches))
    counts = Counter(outcome for one in said for outcome, _ in one)
    assert counts["delivered"] == 10
    assert counts["held"] + counts["suspended"] == 96 - 10
    used = {
        (row["scope"], row["measure"]): row["used"]
        for row in await plane.rows(
            "select scope, measure, sum(used) as used from execution.budget group by scope, measure"
        )
    }
    assert used["tenant", "EUR"] == Decimal("1.00")
    assert used["agent", "activations"] == 10
    notices = await plane.rows("select count from mailbox.notice where kind = 'suspended'")
    assert [row["count"] for row in notices] == [1] * len(
        await plane.rows("select from execution.suspension")
    )


@pytest.mark.req(95)
async def test_reported_usage_replaces_the_reserve_and_a_dead_message_gives_it_back(plane: Plane) -> None:
    budget = {"activations": "5/day", "cost": {"limit": "1.00 EUR/day", "reserve": "0.30 EUR"}}
    await plane.in_force(declared(limits={"budget": budget}))
    directory, mailbox = Directory(plane.catalog), Mailbox(plane.pool)
    await arrive(plane, directory, received(1), received(2), received(3))
    leased = await mailbox.claim(TENANT, AGENT, max=3, incarnation="w")
    tokens = [one.lease.token for one in leased]
    await mailbox.ack([AckItem(tokens[0], None, {"cost": "0.45 EUR", "model": "m"}), AckItem(tokens[1])])
    await mailbox.release([ReleaseItem(tokens[2], "rejected")])
    reconciler = Reconciler(plane.pool, directory)
    assert await reconciler.round() == 3
    assert await reconciler.round() == 0
    used = {r["measure"]: r["used"] for r in await plane.rows("select measure, used from execution.budget")}
    assert used == {"activations": 2, "EUR": Decimal("0.75")}
    log = await plane.rows(
        "select outcome, cost, currency, reserved, model from execution.usage order by outcome, cost"
    )
    assert [(r["outcome"], r["cost"], r["currency"], r["model"]) for r in log] == [
        ("acked", Decimal("0.45"), "EUR", "m"),
        ("acked", None, "EUR", None),
        ("dead: rejected", None, "EUR", None),
    ]


@pytest.mark.req(109, 154)
@pytest.mark.parametrize(("held", "left"), [("drop", 20), ("deliver", 40), ("review", 20)])
async def test_a_storm_holds_what_comes_until_a_person_says_what_becomes_of_it(
    plane: Plane, held: str, left: int
) -> None:
    """J2: 52 events in a second, at most 20 delivered, one notice, the rest kept with its cause."""
    await plane.in_force(declared(limits={"storm": {"threshold": "20/min"}}))
    directory, mailbox = Directory(plane.catalog), Mailbox(plane.pool)
    said = await arrive(plane, directory, *(received(n) for n in range(52)))
    assert Counter(outcome for outcome, _ in said) == {"delivered": 20, "suspended": 1, "held": 31}
    assert await mailbox.claim(TENANT, AGENT, max=100, incarnation="w") == []
    # One that was held by nobody, since somebody worked on it at that moment, is found.
    await plane.pool.execute(
        "update mailbox.work set held_by = null, still_since = null where place is null"
        " and id in (select id from mailbox.work limit 1)"
    )
    assert await Settler(plane.pool).look() == 1
    assert await mailbox.claim(TENANT, AGENT, max=100, incarnation="w") == []
    [notice] = await plane.rows("select text, count from mailbox.notice")
    assert notice["count"] == 1
    await lifted(plane, held)
    assert len(await mailbox.claim(TENANT, AGENT, max=100, incarnation="w")) == 20
    releaser = Releaser(plane.pool, plane.catalog, Wake(None), directory)
    while await releaser.look():
        pass
    # What was held before trips nothing again, and every event of it is in a message, dropped or kept.
    expected = {"drop": (0, 20), "deliver": (0, 52), "review": (32, 20)}[held]
    assert (await plane.count("execution.held"), await plane.count("mailbox.message")) == expected
    if held == "review":
        await lifted(plane, "deliver")
        while await releaser.look():
            pass
        assert await plane.count("mailbox.message") == 52
    [event] = await plane.rows(
        "select payload from execution.outbox where subject = $1", ingress_subject(TENANT)
    )
    told = loads_envelope(orjson.loads(event["payload"])[0])
    assert (told.type, told.subject) == ("sereno.platform.subscription.suspended", "refund-watch")
    assert left


@pytest.mark.req(56)
async def test_the_end_of_a_run_wakes_who_asks_for_it_and_never_the_agent_itself(plane: Plane) -> None:
    ended = {"platform": {"types": ["sereno.platform.run.finished"], "agent": f"agent:{AGENT}"}}
    await plane.in_force(
        declared("refund-watch"),
        declared("audit", agent="agent:auditor", source=ended),
        declared("loop", source=ended),
        declared(
            "other", agent="agent:auditor", source={"platform": {**ended["platform"], "agent": "agent:x"}}
        ),
    )
    directory, mailbox = Directory(plane.catalog), Mailbox(plane.pool)
    await arrive(plane, directory, received(1))
    [leased] = await mailbox.claim(TENANT, AGENT, incarnation="w")
    await mailbox.ack([AckItem(leased.lease.token, {"done": True})])
    await Reconciler(plane.pool, directory).round()
    [row] = await plane.rows(
        "select payload from execution.outbox where subject = $1", ingress_subject(TENANT)
    )
    event = loads_envelope(orjson.loads(row["payload"])[0])
    assert await arrive(plane, directory, event) == [("delivered", "delivered"), ("dropped", "cycle")]


async def judged(plane: Plane, directory: Directory, answer: Any) -> str:
    [candidate] = await evaluations.lease(plane.pool, 10)
    async with plane.pool.acquire() as conn, conn.transaction():
        status = await evaluations.settle(conn, candidate, answer, directory)
    assert status == "ok"
    async with plane.pool.acquire() as conn, conn.transaction():
        assert await evaluations.settle(conn, candidate, answer, directory) == "stale"
    return str(candidate.receiptid)


@pytest.mark.req(99)
async def test_only_the_event_of_a_verdict_that_fires_wakes(plane: Plane) -> None:
    condition = {"criterion": "Does it ask for money back?", "min_confidence": 0.7}
    await plane.in_force(declared(condition=condition))
    directory = Directory(plane.catalog)
    assert await arrive(plane, directory, received(1)) == [("awaiting_verdict", "awaiting_verdict")]
    await judged(plane, directory, Judged(True, 0.6))
    await arrive(plane, directory, received(2))
    await judged(plane, directory, EvaluationError("timeout", "no answer"))
    assert await evaluations.lease(plane.pool, 10) == []
    await plane.pool.execute("update execution.evaluation set ready_at = now() - interval '1 s'")
    await judged(plane, directory, Judged(True, 0.9))
    assert await plane.count("mailbox.message") == 0
    reasons = await plane.rows("select outcome, reason from execution.verdict order by receiptid")
    assert [tuple(row.values()) for row in reasons] == [
        ("dropped", "not_met"),
        ("awaiting_verdict", "condition_met"),
    ]
    [row] = await plane.rows(
        "select payload from execution.outbox where subject = $1", ingress_subject(TENANT)
    )
    event = loads_envelope(orjson.loads(row["payload"])[0])
    assert await arrive(plane, directory, event) == [("delivered", "delivered")]
    assert await arrive(plane, directory, event) == []
    async with plane.pool.acquire() as conn:
        evidence = await of_receipt(conn, TENANT, UUID(receiptid(2)), why_not=False)
    assert evidence is not None
    assert "judged, not verified" in explain(evidence, Question())["sentence"]
