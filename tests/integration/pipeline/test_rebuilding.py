"""Guard state is what the log tells: whatever was decided, after days of it were dropped, and once it was put right."""

from datetime import datetime, timedelta

import pytest

from sereno.execution_plane.accounts.reconciling import Reconciler
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.forgetting import Forgetting
from sereno.execution_plane.pipeline.rebuilding import compare, rebuild
from sereno.mailbox import rebuild as mailbox_rebuild
from sereno.mailbox import retention
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.lease_items import AckItem, ParkItem
from sereno.mailbox.verbs import Mailbox
from tests.engines import Engines
from tests.integration.mailbox.test_rebuild import age
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import consume
from tests.integration.pipeline.test_usage import AGENT, BUDGET, story
from tests.passages import NOON, TENANT, declared, received

SPOIL = (
    "update execution.subscription_state set deliveries = 99, last_recorded = null",
    "update execution.dedup set outcome = 'dropped' where outcome = 'delivered'",
    "delete from execution.dedup where ctid = (select min(ctid) from execution.dedup)",
    "update execution.budget set used = used + 5 where measure = 'activations'",
    "update execution.batch set items = 7 where closed_at is null",
)


async def at_noon(_conn: AnyConnection) -> datetime:
    """The windows of what was received then are open."""
    return NOON + timedelta(minutes=30)


async def _open_batch(plane: Plane) -> None:
    await plane.in_force(declared("heap", limits={"batch": {"window": "1h"}}))
    await plane.publish(received(101), received(102))
    await consume(plane)


@pytest.mark.req(115, 153)
async def test_what_was_spoilt_is_put_right_and_nothing_differs_afterwards(plane: Plane) -> None:
    await story(plane)
    await Reconciler(plane.pool, Directory(plane.catalog)).round()
    await _open_batch(plane)
    assert await compare(plane.pool, at_noon) == []
    before = await _state(plane)
    for statement in SPOIL:
        await plane.pool.execute(statement)
    found = await compare(plane.pool, at_noon)
    assert {one.table for one in found} == {"dedup", "subscription_state", "budget", "batch"}
    rebuilt = await rebuild(plane.pool, at_noon)
    assert list(rebuilt.mended) == found
    assert rebuilt.differences == []
    assert await _state(plane) == before
    assert (await rebuild(plane.pool, at_noon)).mended == []


async def _state(plane: Plane) -> list[object]:
    tables = ("subscription_state", "dedup", "budget", "batch")
    return [
        await plane.rows(f"select to_jsonb(t) as row from execution.{table} t order by to_jsonb(t)::text")
        for table in tables
    ]


@pytest.mark.req(115)
async def test_a_message_parked_for_three_days_counts_after_the_days_of_the_log_are_dropped(
    plane: Plane, engines: Engines
) -> None:
    await plane.in_force(declared("one", limits={"budget": BUDGET}))
    await plane.publish(received(1), received(2))
    await consume(plane)
    mailbox = Mailbox(plane.pool)
    first, second = await mailbox.claim(TENANT, AGENT, max=2, incarnation="w")
    await mailbox.park([ParkItem(first.lease.token, "question", question="May I?", options=("yes", "no"))])
    await mailbox.ack([AckItem(second.lease.token, None, {"cost": "0.45 EUR"})])
    await Reconciler(plane.pool, Directory(plane.catalog)).round()
    await age(plane.pool, engines.dsn, 3)
    assert await retention.Retention(plane.pool, kept_days=1).round()
    assert await plane.pool.fetchval("select count(*) from mailbox.event where kind <> 'carried'") == 0
    assert await mailbox_rebuild.compare(plane.pool) == []
    assert await compare(plane.pool, at_noon) == []
    used = await plane.rows(
        "select used from execution.budget where measure = 'EUR' and scope = 'subscription'"
    )
    assert [str(row["used"]) for row in used] == ["0.75"]


async def test_what_closed_long_ago_is_forgotten_and_stays_in_the_opening_balance(plane: Plane) -> None:
    await plane.in_force(
        declared("heap", limits={"batch": {"window": "1h", "max_items": 2}, "budget": BUDGET})
    )
    await plane.publish(received(1), received(2))
    await consume(plane)
    mailbox = Mailbox(plane.pool)
    [only] = await mailbox.claim(TENANT, AGENT, max=2, incarnation="w")
    await mailbox.ack([AckItem(only.lease.token)])
    await Reconciler(plane.pool, Directory(plane.catalog)).round()
    assert await compare(plane.pool, at_noon) == []
    assert await Forgetting(plane.pool, grace=timedelta(days=3650)).round() == 0
    for table in ("batch", "budget_reservation"):
        await plane.pool.execute(
            f"update execution.{table} set closed_at = closed_at - interval '63 days' where closed_at is not null"
        )
    await plane.pool.execute("update execution.budget set starts_at = starts_at - interval '63 days'")
    await plane.pool.execute(
        "insert into execution.subject_state (tenant_id, subscription, subject, forget_at)"
        " values ($1, 'heap', 'old', clock_timestamp()), ($1, 'heap', 'new', 'infinity')",
        TENANT,
    )
    assert await Forgetting(plane.pool, grace=timedelta(days=3650)).round() == 3
    assert await plane.count("execution.batch") == await plane.count("execution.batch_item") == 0
    assert await plane.count("execution.subject_state") == 1
    assert await compare(plane.pool) == []
