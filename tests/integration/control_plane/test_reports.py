"""Reports are folded exactly once, however often the stream delivers them."""

from datetime import UTC, datetime, timedelta

import pytest
from nats.aio.client import Client
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.minting import utc_now
from sereno.control_plane.reports import inbox
from sereno.control_plane.reports.consumer import ReportConsumer
from sereno.control_plane.reports.inbox import Activity, Position, activities, forget, receive
from sereno.mailbox.engine.bus import report_subject
from sereno.mailbox.engine.outbox import POSITION_HEADER
from sereno.subscriptions.report import Activity as Item
from sereno.subscriptions.report import ActivityReport, dumps

T0 = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SUBJECT = report_subject("execution", "default")


def report(*items: tuple[str, str, int, int], tenant: str = "default") -> ActivityReport:
    """(subscription, outcome, count, seconds after noon) each."""
    return ActivityReport(
        tenant=tenant,
        items=tuple(
            Item(subscription=name, outcome=outcome, count=count, last_at=T0 + timedelta(seconds=at))
            for name, outcome, count, at in items
        ),
    )


async def known(engine: AsyncEngine, name: str = "watch", tenant: str = "default") -> Activity | None:
    async with engine.connect() as connection:
        return (await activities(connection, tenant, [name])).get(name)


async def publish(client: Client, position: object, payload: bytes) -> None:
    headers = {POSITION_HEADER: str(position)} if position is not None else None
    await client.jetstream().publish(SUBJECT, payload, headers=headers)


async def test_counts_by_outcome_and_the_last_delivery(engine: AsyncEngine) -> None:
    reports = {
        Position("execution", 1): report(("watch", "delivered", 2, 5), ("watch", "dropped", 1, 9)),
        Position("execution", 2): report(("watch", "delivered", 1, 3), ("other", "dropped", 4, 1)),
        Position("execution", 3): report(("watch", "delivered", 7, 1), tenant="acme"),
    }
    async with engine.begin() as connection:
        assert await receive(connection, reports) == 3
    assert await known(engine) == Activity(T0 + timedelta(seconds=5), {"delivered": 3, "dropped": 1})
    assert await known(engine, "other") == Activity(None, {"dropped": 4})
    assert await known(engine, tenant="acme") == Activity(T0 + timedelta(seconds=1), {"delivered": 7})


async def test_a_position_counts_once(engine: AsyncEngine) -> None:
    again = {Position("execution", 1): report(("watch", "delivered", 1, 5))}
    later = {**again, Position("execution", 2): report(("watch", "delivered", 1, 6))}
    fresh = []
    for reports in (again, again, later, later):
        async with engine.begin() as connection:
            fresh.append(await receive(connection, reports))
    assert fresh == [1, 0, 1, 0]
    assert await known(engine) == Activity(T0 + timedelta(seconds=6), {"delivered": 2})


async def test_a_rolled_back_fold_counts_when_it_comes_again(engine: AsyncEngine) -> None:
    reports = {Position("execution", 1): report(("watch", "delivered", 1, 5))}
    async with engine.connect() as connection:
        await receive(connection, reports)
    assert await known(engine) is None
    async with engine.begin() as connection:
        assert await receive(connection, reports) == 1


async def test_the_same_report_published_twice_and_redelivered_counts_once(
    engine: AsyncEngine, nats: Client, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for position in (1, 2, 1, 1, 2):
        await publish(
            operator, f"execution:{position}", dumps(report(("watch", "delivered", position, position)))
        )
    consumer = ReportConsumer(engine, nats)
    first = await consumer.subscribe()
    # It dies after the fold and before the acknowledgement: the messages are fetched and never acknowledged.
    messages = await first.fetch(5, timeout=60)
    async with engine.begin() as connection:
        await receive(connection, dict(consumer._readable(messages)))
    for message in messages:
        await message.nak()
    assert await consumer.take(await consumer.subscribe()) == 0
    assert await known(engine) == Activity(T0 + timedelta(seconds=2), {"delivered": 3})
    consumer_info = await operator.jetstream().consumer_info("REPORTS", "control")
    assert (consumer_info.num_pending, consumer_info.num_ack_pending) == (0, 0)


async def test_what_cannot_be_read_does_not_stop_the_rest(
    engine: AsyncEngine, nats: Client, operator: Client
) -> None:
    good = dumps(report(("watch", "delivered", 1, 1)))
    await publish(operator, "execution:1", b"{")
    await publish(operator, None, good)
    await publish(operator, "execution", good)
    await publish(operator, "execution:2", good)
    consumer = ReportConsumer(engine, nats)
    assert await consumer.take(await consumer.subscribe()) == 1
    assert await known(engine) == Activity(T0 + timedelta(seconds=1), {"delivered": 1})


async def test_marks_outlive_the_stream(engine: AsyncEngine) -> None:
    reports = {Position("execution", 1): report(("watch", "delivered", 1, 5))}
    async with engine.begin() as connection:
        await receive(connection, reports)
        await forget(connection, utc_now())
        assert await receive(connection, reports) == 0
        await forget(connection, utc_now() + inbox.KEEP + timedelta(seconds=1))
        assert await receive(connection, reports) == 1
