"""From the ingress stream to verdicts and messages, on real engines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import orjson
import pytest

from sereno.envelope.encode import flat
from sereno.envelope.identifiers import to_people
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.outside import BODY_SHA256
from sereno.execution_plane.pipeline import Consumer
from sereno.mailbox.engine.bus import INGRESS, wake_subject
from sereno.mailbox.verbs import Mailbox
from sereno.subscriptions import report
from tests.integration.pipeline.conftest import Plane
from tests.passages import TENANT, declared, receiptid, received
from tests.waiting import until

MINUTE = timedelta(minutes=1)


@contextlib.asynccontextmanager
async def running(*consumers: Consumer) -> AsyncIterator[None]:
    """Consumers that run while the body does; a fault of one fails the test."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for consumer in consumers:
            group.create_task(consumer.run(stop))
        try:
            yield
        finally:
            stop.set()


async def drained(plane: Plane) -> None:
    """Wait until the stream holds nothing that was not acknowledged."""

    async def empty() -> bool:
        state = (await plane.pipeline.jetstream().stream_info(INGRESS)).state
        return state.messages == 0

    await until(empty)


async def consume(plane: Plane) -> None:
    async with running(plane.consumer()):
        await drained(plane)


@pytest.mark.req(2, 12, 22, 100, 103)
async def test_a_batch_becomes_verdicts_state_and_messages(plane: Plane) -> None:
    await plane.in_force(
        declared(
            "refund-watch",
            filters=[{"cel": "data.priority == 'high'"}],
            limits={"cooldown": {"every": "10m"}},
        ),
        declared("ticket-log"),
    )
    await plane.publish(
        received(1, data={"priority": "high"}),
        received(2, event_id="e-1", data={"priority": "high"}, after=MINUTE),
        received(3, data={"priority": "high"}, after=2 * MINUTE),
        received(4, data={"priority": "low"}, after=3 * MINUTE),
        received(5, data={"priority": "high"}, after=11 * MINUTE),
    )
    await consume(plane)
    assert await plane.outcomes() == [
        ("e-1", "refund-watch", "delivered"),
        ("e-1", "ticket-log", "delivered"),
        ("e-1", "refund-watch", "duplicate"),
        ("e-1", "ticket-log", "duplicate"),
        ("e-3", "refund-watch", "cooldown"),
        ("e-3", "ticket-log", "delivered"),
        ("e-4", "ticket-log", "delivered"),
        ("e-5", "refund-watch", "delivered"),
        ("e-5", "ticket-log", "delivered"),
    ]
    messages = await plane.rows("select * from mailbox.message")
    assert len(messages) == 6
    assert {row["instruction"] for row in messages} == {"Draft a reply."}
    assert {row["context"]["attributed_to"] for row in messages} == {"user:marta"}
    verdicts = await plane.rows("select guards, message_id from execution.verdict")
    assert {len(row["guards"]) for row in verdicts} == {7}
    assert {row["message_id"] for row in verdicts} - {None} == {row["id"] for row in messages}


async def test_an_event_that_concerns_nobody_is_stored_without_a_verdict(plane: Plane) -> None:
    await plane.in_force(declared(filters=[{"exact": {"type": "other"}}]))
    await plane.publish(received(1), received(2, origin="webhook/elsewhere"))
    await consume(plane)
    assert await plane.count("execution.receipt") == 2
    assert await plane.count("execution.verdict") == 0


@pytest.mark.req(26)
async def test_redelivery_of_the_same_receipts_changes_nothing(plane: Plane) -> None:
    await plane.in_force(declared(limits={"cooldown": {"every": "10m"}}))
    batch = [received(number, after=number * 6 * MINUTE) for number in range(6)]
    await plane.publish(*batch)
    await consume(plane)
    before = (
        await plane.outcomes(),
        await plane.count("mailbox.message"),
        await plane.count("execution.outbox"),
    )
    await plane.publish(*batch[:3])
    await plane.publish(*batch)
    await consume(plane)
    after = (
        await plane.outcomes(),
        await plane.count("mailbox.message"),
        await plane.count("execution.outbox"),
    )
    assert after == before


async def test_what_the_guards_remember_survives_between_batches(plane: Plane) -> None:
    await plane.in_force(declared(limits={"cooldown": {"every": "10m"}}))
    await plane.publish(received(1))
    await consume(plane)
    await plane.publish(received(2, after=MINUTE), received(3, event_id="e-1", after=20 * MINUTE))
    await consume(plane)
    assert [reason for _, _, reason in await plane.outcomes()] == ["delivered", "cooldown", "duplicate"]


@pytest.mark.req(108, 111)
async def test_a_captured_body_is_a_duplicate_under_another_delivery_id_and_type(plane: Plane) -> None:
    """C6: the body is signed, the delivery id and the type header are not."""
    await plane.in_force(
        declared("refund-watch", filters=[{"exact": {"type": "a"}}]),
        declared("ticket-log", filters=[{"exact": {"type": "b"}}]),
    )
    body = {BODY_SHA256: "ab" * 32}
    await plane.publish(received(1, type_="a", notes=body), received(2, type_="b", notes=body))
    await consume(plane)
    await plane.publish(received(3, type_="b", notes=body, after=timedelta(days=6)))
    await plane.publish(received(4, type_="b", notes=body, after=timedelta(days=7, seconds=1)))
    await consume(plane)
    assert await plane.outcomes() == [
        ("e-1", "refund-watch", "delivered"),
        ("e-2", "ticket-log", "duplicate"),
        ("e-3", "ticket-log", "duplicate"),
        ("e-4", "ticket-log", "delivered"),
    ]
    rows = await plane.rows("select duplicate_of from execution.receipt order by receiptid")
    first = receiptid(1)
    assert [row["duplicate_of"] and str(row["duplicate_of"]) for row in rows] == [None, first, first, None]


async def test_a_body_refused_by_a_pause_is_not_seen_when_it_comes_again(plane: Plane) -> None:
    body = {BODY_SHA256: "cd" * 32}
    await plane.in_force(declared(state="paused"))
    await plane.publish(received(1, notes=body))
    await consume(plane)
    assert await plane.count("execution.body_seen") == 0
    await plane.in_force(declared())
    await plane.publish(received(2, event_id="e-1", notes=body), received(3, event_id="e-1", notes=body))
    await consume(plane)
    assert [reason for _, _, reason in await plane.outcomes()] == ["not_active", "delivered", "duplicate"]


async def test_without_a_valid_policy_events_are_held(plane: Plane) -> None:
    await plane.in_force(declared(), valid_until=received().recordedtime)
    await plane.publish(received(1))
    await consume(plane)
    rows = await plane.rows("select outcome, reason from execution.verdict")
    assert rows == [{"outcome": "held", "reason": "policy_expired"}]
    assert await plane.count("mailbox.message") == 0


@pytest.mark.req(101)
async def test_the_lineage_of_a_cause_travels_with_the_message(plane: Plane) -> None:
    await plane.in_force(declared("refund-watch"), declared("legal-review", agent="agent:legal"))
    await plane.publish(received(1, origin="webhook/zendesk"))
    await consume(plane)
    rows = await plane.rows("select id from mailbox.message where agent = 'support-triage'")
    cause = str(rows[0]["id"])
    await plane.publish(received(2, causationid=cause, hops=2))
    await consume(plane)
    assert await plane.outcomes() == [
        ("e-1", "legal-review", "delivered"),
        ("e-1", "refund-watch", "delivered"),
        ("e-2", "legal-review", "delivered"),
        ("e-2", "refund-watch", "cycle"),
    ]
    caused = await plane.rows(
        "select lineage from mailbox.message where agent = 'legal' and lineage::text <> '[]'"
    )
    assert caused == [{"lineage": [{"message": cause, "agent": "support-triage"}]}]


async def test_a_filter_that_cannot_be_evaluated_is_a_stored_error_and_no_match(plane: Plane) -> None:
    await plane.in_force(
        declared("refund-watch", filters=[{"cel": "data.amount > 3"}]), declared("ticket-log")
    )
    await plane.publish(received(1, data={"amount": "three"}))
    await consume(plane)
    await plane.in_force(declared("refund-watch"))
    await plane.publish(received(2, event_id="e-1"))
    await consume(plane)
    assert await plane.outcomes() == [
        ("e-1", "refund-watch", "filter_fault"),
        ("e-1", "ticket-log", "delivered"),
        # The fault burnt no key: the sender's retry is a first arrival.
        ("e-1", "refund-watch", "delivered"),
    ]


async def test_one_bad_event_is_put_away_and_the_others_are_delivered(plane: Plane) -> None:
    await plane.in_force(declared())
    batch = [flat(received(number)) for number in range(7)]
    batch[3]["data"] = {"note": "a NUL \0 that PostgreSQL cannot keep"}
    await plane.publish_bytes(orjson.dumps(batch))
    await consume(plane)
    reasons = [reason for _, _, reason in await plane.outcomes()]
    assert reasons == ["delivered"] * 3 + ["undecidable"] + ["delivered"] * 3
    kept = await plane.rows("select receiptid, payload from execution.quarantine")
    assert [str(row["receiptid"]) for row in kept] == [receiptid(3)]
    assert orjson.loads(kept[0]["payload"]) == batch[3]
    (notice,) = await plane.rows("select cause, text, count from mailbox.notice")
    assert (notice["cause"], notice["count"]) == ("quarantine/undecidable", 1)
    assert notice["text"].startswith(f"the event {to_people('rcp', receiptid(3))} could not be decided")


async def test_many_unreadable_events_are_put_away_together_and_told_once(plane: Plane) -> None:
    batch: list[Any] = [{"number": number} for number in range(50)]
    await plane.publish_bytes(orjson.dumps([*batch, *batch]))
    await consume(plane)
    kept = await plane.rows("select distinct xmin::text as by from execution.quarantine")
    assert await plane.count("execution.quarantine") == 50
    assert len(kept) == 1  # one transaction
    (notice,) = await plane.rows("select cause, count from mailbox.notice")
    assert (notice["cause"], notice["count"]) == ("quarantine/unreadable", 50)


@pytest.mark.parametrize(
    "payload",
    [
        b"not json",
        b'[{"specversion": "1\\u0000"}]',
        b'{"specversion": "1.0"}',
        b'[{"specversion": "1.0", "id": "x"}]',
        b"[42]",
    ],
)
async def test_bytes_that_are_no_envelopes_are_put_away(plane: Plane, payload: bytes) -> None:
    await plane.in_force(declared())
    await plane.publish_bytes(payload)
    await plane.publish(received(1))
    await consume(plane)
    assert await plane.count("execution.quarantine") == 1
    assert [reason for _, _, reason in await plane.outcomes()] == ["delivered"]


async def test_an_envelope_of_another_tenant_than_its_subject_is_put_away(plane: Plane) -> None:
    await plane.in_force(declared(tenant="umbrella"), tenant="umbrella")
    await plane.publish(received(1, tenant="umbrella"), tenant=TENANT)
    await consume(plane)
    assert await plane.count("execution.quarantine") == 1
    assert await plane.count("execution.verdict") == 0


async def test_an_activity_report_and_the_outcome_of_a_due_instant_are_written(plane: Plane) -> None:
    tick = received(1, origin="time/morning-round", type_="sereno.time.due")
    await plane.in_force(declared("morning-round", source={"time": {"every": "1h"}}), declared("ticket-log"))
    await plane.pool.execute(
        "insert into execution.due_instant (tenant_id, schedule, instant, subscription, receiptid, emitted)"
        " values ($1, gen_random_uuid(), now(), 'morning-round', $2::text::uuid, now())",
        TENANT,
        tick.receiptid,
    )
    await plane.publish(tick, received(2), received(3, event_id="e-2"))
    await consume(plane)
    instants = await plane.rows("select outcome, reason from execution.due_instant")
    assert instants == [{"outcome": "delivered", "reason": "delivered"}]
    told = [report.loads(row["payload"]) for row in await plane.rows("select payload from execution.outbox")]
    activity = [said for said in told if isinstance(said, report.ActivityReport)]
    assert activity == told
    counted = {(item.subscription, item.outcome): item.count for said in activity for item in said.items}
    assert counted == {
        ("morning-round", "delivered"): 1,
        ("ticket-log", "delivered"): 1,
        ("ticket-log", "dropped"): 1,
    }


async def test_a_worker_is_hinted_at_once_and_claims_what_was_delivered(plane: Plane) -> None:
    await plane.in_force(declared())
    hints = await plane.gateway.subscribe(wake_subject(TENANT, "support-triage"))
    await plane.gateway.flush()
    await plane.publish(*(received(number) for number in range(5)))
    await consume(plane)
    await hints.next_msg(timeout=60)
    assert hints.pending_msgs == 0
    claimed = await Mailbox(plane.pool).claim(TENANT, "support-triage", max=10, incarnation="w1")
    assert {message.envelopes[0]["id"] for message in claimed} == {f"e-{number}" for number in range(5)}


async def test_replicas_share_the_stream_without_a_second_message(plane: Plane) -> None:
    await plane.in_force(
        declared("refund-watch", limits={"cooldown": {"every": "10m"}}), declared("ticket-log")
    )
    for number in range(0, 200, 4):
        same = f"e-{number // 8}"
        await plane.publish(*(received(number + step, event_id=f"{same}-{step}") for step in range(4)))
    async with running(*(plane.consumer() for _ in range(4))):
        await drained(plane)
    outcomes = await plane.outcomes()
    assert len(outcomes) == 400
    delivered = [(event, name) for event, name, reason in outcomes if reason == "delivered"]
    assert len(delivered) == len(set(delivered)) == await plane.count("mailbox.message")
    assert sum(name == "ticket-log" for _, name in delivered) == 100
    assert sum(name == "refund-watch" for _, name in delivered) == 1


async def test_an_event_is_decided_by_the_newest_stored_manifest(plane: Plane) -> None:
    """The gateway may accept an event under a manifest that this process has not looked at yet."""
    other = Plane(plane.pool, plane.gateway, plane.pipeline, Catalog())
    async with running(plane.consumer()):
        await other.in_force(declared())
        await plane.publish(received(1))
        await drained(plane)
    assert await plane.outcomes() == [("e-1", "refund-watch", "delivered")]
