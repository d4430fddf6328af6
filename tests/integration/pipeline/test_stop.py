"""The stop inside the delivering transaction: what comes under it is held, and delivered when it ends."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from sereno.execution_plane.explain.explanation import Question, explain
from sereno.execution_plane.explain.gather import of_message, of_receipt
from sereno.execution_plane.pipeline.release import Releaser
from sereno.mailbox import stop
from sereno.mailbox.wake import Wake
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import consume, running
from tests.passages import TENANT, declared, receiptid, received
from tests.waiting import until

WHO: dict[str, Any] = {"reason": "drill", "principal": "user:marta"}
SCHEDULE = """
insert into execution.schedule
    (tenant_id, schedule, subscription, subscription_version, spec, misfire, rule, object_sha256, counted_from)
values ('acme', gen_random_uuid(), $1, 1, '{}', $2, '', '', now())
"""
SCOPES = [
    "*", "*/family/webhook", TENANT, f"{TENANT}/family/webhook", f"{TENANT}/agent/support-triage",
    f"{TENANT}/subscription/refund-watch",
]  # fmt: skip


async def release(plane: Plane) -> int:
    return await Releaser(plane.pool, plane.catalog, Wake(None)).look()


async def explained(plane: Plane, number: int) -> dict[str, Any]:
    async with plane.pool.acquire() as conn:
        evidence = await of_receipt(conn, TENANT, UUID(receiptid(number)), why_not=False)
    assert evidence is not None
    return explain(evidence, Question())


@pytest.mark.req(105)
@pytest.mark.parametrize("scope", SCOPES)
async def test_what_comes_under_a_stop_is_held_and_delivered_when_it_ends(plane: Plane, scope: str) -> None:
    other = "agent:other"
    await plane.in_force(declared("refund-watch"), declared("beside", agent=other))
    await plane.in_force(declared("refund-watch", tenant="globex"), tenant="globex")
    await stop.engage(plane.pool, scope, **WHO)
    await plane.publish(received(1), received(2, event_id="e-1"))
    await plane.publish(received(3, tenant="globex"), tenant="globex")
    await consume(plane)
    beside = "delivered" if "triage" in scope or "refund" in scope else "stopped"
    assert await plane.outcomes() == [
        ("e-1", "beside", beside),
        ("e-1", "refund-watch", "stopped"),
        ("e-1", "beside", "duplicate"),
        ("e-1", "refund-watch", "duplicate"),
        ("e-3", "refund-watch", "delivered" if scope[0] != "*" else "stopped"),
    ]
    held = await explained(plane, 1)
    assert f"the stop of {scope} held it" in held["sentence"]
    assert await release(plane) == 0
    await stop.release(plane.pool, scope)
    assert await release(plane) > 0
    assert await release(plane) == 0
    assert {reason for _, _, reason in await plane.outcomes()} == {"delivered", "duplicate"}
    assert await plane.count("mailbox.message") == 3
    [row] = await plane.rows(
        "select * from execution.verdict where tenant_id = 'acme' and subscription = 'refund-watch'"
        " and outcome = 'delivered'"
    )
    assert (row["numbers"]["held_for"], str(row["receiptid"])) == ("stopped", receiptid(1))
    async with plane.pool.acquire() as conn:
        evidence = await of_message(conn, TENANT, row["message_id"])
    assert evidence is not None
    assert explain(evidence, Question())["decisions"][0]["outcome"] == "delivered"


async def test_no_delivery_commits_after_a_stop_returned(plane: Plane) -> None:
    await plane.in_force(declared())
    async with running(plane.consumer(), plane.consumer()):
        numbers = iter(range(1, 10_000))
        for _ in range(4):
            await plane.publish(*(received(next(numbers)) for _ in range(20)))
            await plane.publish(*(received(next(numbers)) for _ in range(20)))
            await stop.engage(plane.pool, "*", **WHO)
            before = await plane.count("mailbox.message")
            await plane.publish(received(last := next(numbers)))

            async def decided(number: int = last) -> bool:
                sql = "select count(*) from execution.receipt where receiptid = $1::text::uuid"
                return bool(await plane.pool.fetchval(sql, receiptid(number)))

            await until(decided)
            assert await plane.count("mailbox.message") == before
            await stop.release(plane.pool, "*")
        released = Releaser(plane.pool, plane.catalog, Wake(None))

        async def everything() -> bool:
            await released.look()
            return await plane.count("mailbox.message") == 4 * 41

        await until(everything)


@pytest.mark.parametrize(("misfire", "left"), [("skip", 0), ("latest", 1), ("all", 3)])
async def test_instants_that_a_stop_held_follow_misfire(plane: Plane, misfire: str, left: int) -> None:
    await plane.in_force(declared("nightly", source={"time": {"every": "1h"}}, misfire=misfire))
    await plane.pool.execute(SCHEDULE, "nightly", misfire)
    await stop.engage(plane.pool, TENANT, **WHO)
    for number in range(1, 4):
        await plane.publish(received(number, origin="time/nightly", after=timedelta(hours=number)))
        await consume(plane)
    await stop.release(plane.pool, TENANT)
    assert await release(plane) == 3
    reasons = [reason for _, _, reason in await plane.outcomes()]
    assert reasons == ["misfire"] * (3 - left) + ["delivered"] * left
    if left < 3:
        assert f"misfire is {misfire}" in (await explained(plane, 1))["sentence"]
    became = await plane.rows("select outcome from execution.dedup order by receiptid")
    assert [row["outcome"] for row in became] == ["dropped"] * (3 - left) + ["delivered"] * left


async def test_what_is_gone_by_then_is_not_delivered(plane: Plane) -> None:
    await plane.in_force(declared("kept"), declared("paused-then"), declared("deleted-then"))
    await stop.engage(plane.pool, TENANT, **WHO)
    await plane.publish(received(1))
    await consume(plane)
    await plane.in_force(declared("kept"), declared("paused-then", state="paused"))
    await stop.release(plane.pool, TENANT)
    assert await release(plane) == 3
    assert await plane.outcomes() == [
        ("e-1", "deleted-then", "revoked"),
        ("e-1", "kept", "delivered"),
        ("e-1", "paused-then", "not_active"),
    ]


async def test_what_an_expired_manifest_held_is_delivered_under_the_next(plane: Plane) -> None:
    past = datetime.now(UTC) - timedelta(hours=1)
    await plane.in_force(declared(), valid_until=past)
    await plane.publish(received(1))
    await consume(plane)
    assert await plane.outcomes() == [("e-1", "refund-watch", "policy_expired")]
    assert await release(plane) == 0
    await plane.in_force(declared())
    assert await release(plane) == 1
    assert await plane.outcomes() == [("e-1", "refund-watch", "delivered")]


async def test_two_releasers_deliver_once(plane: Plane) -> None:
    await plane.in_force(declared())
    await stop.engage(plane.pool, "*", **WHO)
    await plane.publish(*(received(number) for number in range(1, 51)))
    await consume(plane)
    await stop.release(plane.pool, "*")
    await asyncio.gather(*(release(plane) for _ in range(4)))
    assert await plane.count("mailbox.message") == 50
