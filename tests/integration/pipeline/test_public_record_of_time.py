"""Faults of time that users of other systems reported, with a driven clock, down to the messages in the mailbox."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sereno.execution_plane.listeners import ledger, rebuild
from tests.driven_clock import DAY, Clock, timed
from tests.integration.pipeline.conftest import Plane
from tests.passages import TENANT

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return DAY + timedelta(hours=hour, minutes=minute, seconds=second)


@pytest.fixture
def clock(plane: Plane) -> Clock:
    return Clock(plane)


@pytest.mark.req(107)
async def test_a1_a_restart_does_not_run_a_slot_again(clock: Clock) -> None:
    await clock.plane.in_force(timed("nightly", cron="0 22 * * *", zone="UTC"))
    await clock.look(clock.listener(), at(22))
    await clock.decide()
    await clock.look(clock.listener(), at(22, 30))
    await clock.decide()
    assert await clock.messages() == [at(22)]
    assert await clock.accounted() == {"fired": 1}


async def test_a2_reading_advances_nothing(clock: Clock) -> None:
    await clock.plane.in_force(timed("report", cron="0 1 * * *", zone="UTC"))
    listener = clock.listener()
    await clock.look(listener, at(0))
    before = await clock.plane.rows("select next_due, last_instant from execution.schedule")
    await ledger.check(clock.plane.pool)
    assert await clock.plane.rows("select next_due, last_instant from execution.schedule") == before
    assert before == [{"next_due": at(1), "last_instant": None}]
    await clock.look(listener, at(2))
    await clock.decide()
    assert await clock.messages() == [at(1)]
    assert await clock.accounted() == {"late": 1}


@pytest.mark.req(48)
async def test_a3_two_schedulers_deliver_a_one_shot_once(clock: Clock) -> None:
    await clock.plane.in_force(timed("once", at="2026-11-30T09:00:00Z"))
    listeners = [clock.listener() for _ in range(2)]
    await asyncio.gather(*(clock.look(listener, at(9)) for listener in listeners))
    await clock.look(listeners[1], at(9, 0, 28))
    await clock.decide()
    assert await clock.messages() == [at(9)]
    assert await clock.accounted() == {"fired": 1}


async def test_a4_a_slot_released_twice_is_one_message(clock: Clock) -> None:
    await clock.plane.in_force(timed("daily", cron="0 9 * * *", zone="UTC"))
    await clock.look(clock.listener(), at(9))
    # As if the advance had been lost and the due instant not.
    await clock.plane.pool.execute("update execution.schedule set next_due = $1", at(9))
    await clock.look(clock.listener(), at(9, 1))
    await clock.decide()
    assert await clock.messages() == [at(9)]
    assert await clock.accounted() == {"fired": 1}


async def test_a5_one_shots_and_rules_inside_a_downtime_both_have_an_end(clock: Clock) -> None:
    await clock.plane.in_force(
        timed("once", at="2026-11-30T10:00:00Z"),
        timed("hourly", "latest", rrule="FREQ=HOURLY", dtstart="2026-11-30T08:30:00", zone="UTC"),
        timed("never-late", "skip", cron="15 10 * * *", zone="UTC"),
        timed("each", "all", cron="0 9,10 * * *", zone="UTC"),
    )
    await clock.look(clock.listener(), at(8))
    await clock.look(clock.listener(), at(11, 10))
    await clock.decide()
    assert await clock.messages() == [at(9), at(10), at(10), at(10, 30)]
    assert await clock.history() == [
        (at(9), "delivered", "delivered", 0),
        (at(9, 30), "skipped", "misfire", 2),
        (at(10), "delivered", "delivered", 0),
        (at(10), "delivered", "delivered", 0),
        (at(10, 15), "skipped", "misfire", 1),
        (at(10, 30), "delivered", "delivered", 0),
    ]
    assert await clock.accounted() == {"late": 4, "skipped": 3}


async def test_a6_after_a_sleep_nothing_is_replayed_and_one_record_counts(clock: Clock) -> None:
    await clock.plane.in_force(
        timed("ticks", "skip", every="10s", start="2026-11-30T10:00:00Z"),
        timed("minutes", "skip", rrule="FREQ=MINUTELY", dtstart="2026-11-30T10:00:00", zone="UTC"),
    )
    listener = clock.listener()
    await clock.look(listener, at(10))
    await clock.look(listener, at(11, 18, 6))
    await clock.decide()
    assert await clock.messages() == [at(10), at(10)]
    skipped = [(count, reason) for _, outcome, reason, count in await clock.history() if outcome == "skipped"]
    assert sorted(skipped) == [(78, "misfire"), (78 * 6, "misfire")]
    assert await clock.accounted() == {"fired": 2, "skipped": 78 * 7}


async def test_a7_an_edit_leaves_nothing_of_the_old_rule(clock: Clock) -> None:
    await clock.plane.in_force(timed("hours", every="1h", start="2026-11-30T00:00:00Z"))
    listener = clock.listener()
    await clock.look(listener, at(0))
    await clock.look(listener, at(1))
    # While no listener looked, 02:00 was due by the rule that is edited at 02:30.
    edited = timed("hours", every="3h", start="2026-11-30T00:00:00Z", since=at(2, 30), version=2)
    await clock.plane.in_force(edited)
    for hour in range(3, 10):
        await clock.look(listener, at(hour))
    await clock.decide()
    assert await clock.messages() == [at(0), at(1), at(3), at(6), at(9)]
    assert (at(2), "skipped", "edited", 1) in await clock.history()
    assert (await clock.accounted())["skipped"] == 1


async def test_a8_slots_inside_a_long_run_are_each_counted(clock: Clock) -> None:
    """A job longer than its interval: each slot is a message of its own unless `when_busy` says otherwise."""
    await clock.plane.in_force(timed("busy", every="1m", start="2026-11-30T10:00:00Z"))
    listener = clock.listener()
    for minute in range(6):
        await clock.look(listener, at(10, minute))
    await clock.decide()
    assert await clock.messages() == [at(10, minute) for minute in range(6)]
    assert await clock.accounted() == {"fired": 6}


async def test_slots_inside_a_pause_are_skipped_and_recorded(clock: Clock) -> None:
    rule: dict[str, Any] = {"cron": "0 * * * *", "zone": "UTC", "misfire": "all"}
    await clock.plane.in_force(timed("hourly", **rule))
    listener = clock.listener()
    await clock.look(listener, at(0))
    await clock.plane.in_force(timed("hourly", state="paused", since=at(0, 30), **rule))
    await clock.look(listener, at(3, 30))
    await clock.plane.in_force(timed("hourly", since=at(3, 45), **rule))
    await clock.look(listener, at(4))
    await clock.decide()
    assert await clock.messages() == [at(0), at(4)]
    assert (at(3), "skipped", "paused", 3) in await clock.history()
    assert await clock.accounted() == {"fired": 2, "skipped": 3}


async def test_a_stop_holds_what_is_due_and_its_end_applies_the_misfire(clock: Clock) -> None:
    await clock.plane.in_force(timed("hourly", "latest", cron="0 * * * *", zone="UTC"))
    listener = clock.listener()
    await clock.look(listener, at(0))
    await clock.plane.pool.execute(
        "insert into mailbox.stop (scope, reason, principal) values ($1, 'fire', 'u')", TENANT
    )
    for hour in range(1, 4):
        await clock.look(listener, at(hour))
    assert [row["held"] for row in await clock.plane.rows("select held from execution.schedule")] == [True]
    await clock.plane.pool.execute("delete from mailbox.stop")
    await clock.look(clock.listener(), at(3, 30))
    await clock.decide()
    assert await clock.messages() == [at(0), at(3)]
    assert (at(2), "skipped", "misfire", 2) in await clock.history()
    assert await clock.accounted() == {"fired": 1, "late": 1, "skipped": 2}


@pytest.mark.parametrize(("gone", "reason"), [("absent", "revoked"), ("deleted", "deleted")])
async def test_what_was_due_of_a_subscription_that_is_gone_is_recorded(
    clock: Clock, gone: str, reason: str
) -> None:
    rule: dict[str, Any] = {"cron": "0 * * * *", "zone": "UTC"}
    await clock.plane.in_force(timed("hourly", **rule))
    listener = clock.listener()
    await clock.look(listener, at(0))
    await clock.decide()
    await clock.plane.in_force(
        *([] if gone == "absent" else [timed("hourly", state=gone, since=at(1), **rule)])
    )
    await clock.look(listener, at(2, 30))
    await clock.look(listener, at(5))
    await clock.decide()
    assert await clock.messages() == [at(0)]
    assert await clock.history() == [
        (at(0), "delivered", "delivered", 0),
        (at(2), "skipped", reason, 2),
    ]
    assert await clock.accounted() == {"fired": 1, "skipped": 2}


async def test_a_right_that_is_given_back_leaves_the_time_without_it_recorded(clock: Clock) -> None:
    hourly = timed("hourly", "all", cron="0 * * * *", zone="UTC")
    await clock.plane.in_force(hourly)
    listener = clock.listener()
    await clock.look(listener, at(0))
    await clock.plane.in_force()
    await clock.look(listener, at(0, 30))
    await clock.plane.in_force(hourly)
    await clock.look(listener, at(4, 30))
    await clock.look(listener, at(5))
    await clock.decide()
    assert await clock.messages() == [at(0), at(5)]
    assert (at(4), "skipped", "revoked", 4) in await clock.history()
    assert await clock.accounted() == {"fired": 2, "skipped": 4}


async def test_a_signal_whose_subscription_is_gone_by_then_is_dropped_and_says_so(clock: Clock) -> None:
    await clock.plane.in_force(timed("once", at="2026-11-30T09:00:00Z"))
    await clock.look(clock.listener(), at(9))
    await clock.plane.in_force()
    await clock.decide()
    assert await clock.history() == [(at(9), "dropped", "not_matched", 0)]
    assert await clock.accounted() == {"refused": 1}


@pytest.mark.req(126, 152)
async def test_a_lost_index_is_derived_again_and_nothing_fires_twice(clock: Clock) -> None:
    await clock.plane.in_force(
        timed("hourly", cron="0 * * * *", zone="Europe/Madrid"),
        timed("once", at="2026-11-30T03:00:00Z"),
        timed(
            "weekly",
            rrule="FREQ=WEEKLY;BYDAY=MO",
            dtstart="2026-11-30T04:00",
            zone="UTC",
            exdates=["2026-12-07"],
        ),
    )
    for hour in range(4):
        await clock.look(clock.listener(), at(hour))
    await clock.plane.pool.execute("delete from execution.schedule")
    found = await rebuild.rebuild(clock.plane.pool)
    assert {(one.subscription, one.columns) for one in found} == {
        (name, ("missing",)) for name in ("hourly", "once", "weekly")
    }
    assert await rebuild.rebuild(clock.plane.pool) == []
    await clock.look(clock.listener(), at(4))
    await clock.decide()
    assert await clock.messages() == [at(0), at(1), at(2), at(3), at(3), at(4), at(4)]
    # Without a rebuild the next look derives what is missing as well.
    await clock.plane.pool.execute("delete from execution.schedule")
    await clock.look(clock.listener(), at(5))
    await clock.decide()
    assert (await clock.messages())[-1] == at(5)
    assert await clock.accounted() == {"fired": 8}


async def test_what_does_not_add_up_is_named(clock: Clock) -> None:
    await clock.plane.in_force(timed("hourly", cron="0 * * * *", zone="UTC"))
    listener = clock.listener()
    for hour in range(4):
        await clock.look(listener, at(hour))
    pool = clock.plane.pool
    await pool.execute("delete from execution.due_instant where instant = $1", at(1))
    await pool.execute("update execution.due_instant set emitted = now() - interval '2 minutes'")
    await pool.execute("update execution.schedule set next_due = $1", at(7))
    report = await ledger.check(pool)
    assert sorted((one.finding.kind, one.finding.instant) for one in report.found) == [
        ("astray", at(4)),
        ("missing", at(1)),
        ("undecided", at(0)),
        ("undecided", at(2)),
        ("undecided", at(3)),
    ]


@pytest.mark.req(50, 51, 160)
async def test_b1_a_cron_line_keeps_its_wall_clock_over_changes(clock: Clock) -> None:
    friday = datetime(2026, 10, 23, 7, tzinfo=UTC)
    await clock.plane.in_force(timed("work", cron="0 9 * * 1-5", zone="Europe/Berlin", since=friday))
    listener = clock.listener()
    monday = datetime(2026, 10, 26, 8, tzinfo=UTC)
    await clock.look(listener, friday)
    await clock.look(listener, monday - SECOND)
    await clock.look(listener, monday)
    await clock.decide()
    assert await clock.messages() == [friday, monday]


@pytest.mark.req(50, 51)
async def test_b5_the_offset_of_the_date_counts_not_that_of_today(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    february = datetime(2026, 2, 1, tzinfo=UTC)
    await clock.plane.in_force(
        timed(
            "once",
            rrule="FREQ=DAILY;COUNT=1",
            dtstart="2026-04-01T09:00",
            zone="America/New_York",
            since=february,
        )
    )
    listener = clock.listener()
    nine = datetime(2026, 4, 1, 13, tzinfo=UTC)
    await clock.look(listener, nine - SECOND)
    await clock.look(listener, nine)
    await clock.decide()
    assert await clock.messages() == [nine]
