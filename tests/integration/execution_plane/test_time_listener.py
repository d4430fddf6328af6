import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from nats.aio.client import Client

from sereno.envelope.decode import loads_batch
from sereno.envelope.envelope import Envelope
from sereno.execution_plane import listeners_process
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.listeners.schedules import SQL
from sereno.execution_plane.listeners.time_listener import TimeListener
from sereno.execution_plane.manifest.receiver import Receiver
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.bus import INGRESS
from sereno.mailbox.engine.settings import Settings
from tests.integration.execution_plane.declaring import KEY_ID, TENANT, Declarer, declare, subscription

START = datetime(2026, 11, 30, 10, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
READ = """
select seq_scan as scans, coalesce(idx_tup_fetch, 0) as fetched from pg_stat_xact_user_tables
where schemaname = 'execution' and relname = 'schedule'
"""
Wait = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]


class Plane:
    """Declares time subscriptions and reads what the listeners made of them."""

    def __init__(self, declarer: Declarer, receiver: Receiver, pool: AnyPool) -> None:
        self.declarer, self.receiver, self.pool = declarer, receiver, pool

    async def declare(self, *declared: Any) -> None:
        await self.declarer.publish(*declared)
        await self.receiver.receive()

    def listener(self) -> TimeListener:
        return TimeListener(self.pool, lambda size: UUID(int=0).bytes[:size])

    async def signals(self) -> list[Envelope]:
        rows = await self.pool.fetch("SELECT payload FROM execution.outbox ORDER BY position")
        return [envelope for row in rows for envelope in loads_batch(row["payload"])]

    async def instants(self) -> list[datetime]:
        return sorted(signal.time for signal in await self.signals() if signal.time is not None)

    async def skipped(self) -> list[asyncpg.Record]:
        return await self.pool.fetch(
            "SELECT instant, skipped, skipped_from, reason FROM execution.due_instant WHERE outcome = 'skipped'"
        )


@pytest.fixture
def plane(declarer: Declarer, pool: AnyPool, gateway_nats: Client) -> Plane:
    trusted = {KEY_ID: declarer.private_key.public_key()}
    return Plane(declarer, Receiver(pool, gateway_nats, trusted, Catalog()), pool)


def tick(every: str = "10s", *, version: int = 1, state: str = "active", **spec: Any) -> Any:
    source = {"time": {"every": every, "start": "2026-11-30T10:00:00Z"}}
    return subscription("tick", source, version=version, state=state, updated_at=START, spec=spec)


def once(**more: Any) -> Any:
    return subscription("once", {"time": {"at": "2026-11-30T10:00:00Z"}}, updated_at=START - HOUR, **more)


async def test_q51_any_number_of_listeners_make_one_signal_of_one_instant(plane: Plane) -> None:
    await plane.declare(once())
    listeners = [plane.listener() for _ in range(4)]
    for listener in listeners:
        assert await listener.observe(START - SECOND) == 0
    await asyncio.gather(*(listener.observe(START + SECOND) for listener in listeners for _ in range(3)))
    (signal,) = await plane.signals()
    assert (signal.type, signal.origin, signal.tenantid) == ("sereno.time.due", "time/once", TENANT)
    assert (signal.time, signal.recordedtime) == (START, START + SECOND)


async def test_a_restart_repeats_nothing(plane: Plane) -> None:
    await plane.declare(once())
    await plane.listener().observe(START)
    await plane.listener().observe(START + HOUR)
    assert await plane.instants() == [START]


async def test_an_instant_once_written_down_is_never_emitted_again(plane: Plane) -> None:
    await plane.declare(tick())
    await plane.listener().observe(START)
    # As after a restore of the schedule alone.
    await plane.pool.execute("UPDATE execution.schedule SET next_due = $1", START)
    await plane.listener().observe(START + SECOND)
    assert await plane.instants() == [START]


async def test_q53_a_gap_leaves_one_record(plane: Plane) -> None:
    await plane.declare(tick(misfire="skip"))
    listener = plane.listener()
    await listener.observe(START)
    woke = START + 78 * MINUTE + 6 * SECOND
    await listener.observe(woke)
    assert await plane.instants() == [START]
    (record,) = await plane.skipped()
    assert (record["skipped"], record["reason"]) == (78 * 6, "misfire")
    assert (record["skipped_from"], record["instant"]) == (START + 10 * SECOND, START + 78 * MINUTE)


async def test_a_pause_is_skipped_and_recorded_and_then_it_goes_on(plane: Plane) -> None:
    await plane.declare(tick("1m"))
    listener = plane.listener()
    await listener.observe(START)
    await plane.declare(tick("1m", state="paused"))
    await listener.observe(START + MINUTE)
    await plane.declare(tick("1m"))
    await listener.observe(START + 2 * MINUTE)
    assert await plane.instants() == [START, START + 2 * MINUTE]
    (record,) = await plane.skipped()
    assert (record["instant"], record["reason"], record["skipped"]) == (START + MINUTE, "paused", 1)


async def test_an_edit_of_the_rule_derives_the_schedule_anew(plane: Plane) -> None:
    await plane.declare(tick("1h"))
    listener = plane.listener()
    await listener.observe(START)
    await plane.declare(tick("3h", version=2))
    for hours in range(10):
        await listener.observe(START + hours * HOUR)
    assert await plane.instants() == [START + hours * HOUR for hours in (0, 3, 6, 9)]


@pytest.mark.parametrize("gone", ["deleted", "absent", "expired"])
async def test_what_is_gone_fires_no_more(gone: str, plane: Plane) -> None:
    await plane.declare(tick(), once())
    listener = plane.listener()
    await listener.observe(START)
    await plane.declare(*([] if gone == "absent" else [tick(state=gone)]), once())
    await listener.observe(START + HOUR)
    assert [signal.origin for signal in await plane.signals() if signal.time != START] == []
    assert await plane.pool.fetchval("SELECT count(*) FROM execution.schedule WHERE ended IS NULL") == 1


async def test_a_rule_that_is_not_understood_stops_no_other(plane: Plane) -> None:
    strange = declare("Subscription", "strange", {"source": {"time": {"moon": "full"}}})
    await plane.declare(strange, once())
    await plane.listener().observe(START)
    assert await plane.instants() == [START]


async def test_signal_and_schedule_are_written_together_or_not_at_all(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plane.declare(once())

    async def fails(*_: object) -> None:
        raise ConnectionError("the server went away")

    with monkeypatch.context() as patch:
        patch.setattr("sereno.execution_plane.listeners.time_listener.outbox.append", fails)
        with pytest.raises(ConnectionError):
            await plane.listener().observe(START)
    assert await plane.pool.fetchval("SELECT count(*) FROM execution.due_instant") == 0
    await plane.listener().observe(START + SECOND)
    assert await plane.instants() == [START]


async def test_the_process_carries_a_signal_into_the_ingress(
    plane: Plane, operator: Client, settings: Callable[[str], Settings], eventually: Wait
) -> None:
    due = datetime.now(UTC).replace(microsecond=0) + 2 * SECOND
    source = {"time": {"at": due.isoformat()}}
    await plane.declare(subscription("soon", source, updated_at=datetime.now(UTC)))
    stop = asyncio.Event()
    process = asyncio.create_task(listeners_process.run(settings("listeners"), stop))

    async def arrived() -> bool:
        return (await operator.jetstream().stream_info(INGRESS)).state.messages == 1

    try:
        await eventually(arrived)
    finally:
        stop.set()
        await process
    message = await operator.jetstream().get_msg(INGRESS, 1)
    (signal,) = loads_batch(message.data or b"")
    assert signal.time == due
    assert timedelta() <= signal.recordedtime - due < MINUTE


async def test_a_claim_reads_what_is_due_and_not_what_there_is(pool: AnyPool) -> None:
    """With 20,000 schedules, ten of them due and ten held, a claim fetches ten rows by the index of due instants."""
    await pool.execute(
        "insert into execution.schedule (tenant_id, schedule, subscription, subscription_version, spec, misfire,"
        " next_due, rule, object_sha256, counted_from, held) "
        "select 'acme', gen_random_uuid(), 's' || n, 1, '{\"every\": \"1h\"}'::jsonb, 'latest',"
        " $1::timestamptz + case when n <= 20 then '-1s' else '1d' end::interval, decode(md5(n::text), 'hex'), '',"
        " $1::timestamptz, n between 11 and 20 from generate_series(1, 20000) as n",
        START,
    )
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("set local plan_cache_mode = force_generic_plan")
        before = await connection.fetchrow(READ)
        rows = await connection.fetch(SQL["claim_due"], START, 500)
        after = await connection.fetchrow(READ)
    assert len(rows) == 10
    assert before is not None
    assert after is not None
    assert after["scans"] == before["scans"]
    assert after["fetched"] - before["fetched"] <= 20
