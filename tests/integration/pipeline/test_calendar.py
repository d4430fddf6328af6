"""Calendars that change under a driven clock, down to the messages in the mailbox."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sereno.execution_plane.listeners import ledger, rebuild
from sereno.execution_plane.listeners.calendar.sources.look import Last, Look, Resource
from sereno.subscriptions.models.source import CalendarSource
from tests.calendars import CalendarClock, CalendarFile, calendar, followed
from tests.driven_clock import DAY
from tests.integration.pipeline.conftest import Plane
from tests.passages import TENANT

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
MEETING = "UID:meeting\nSUMMARY:Budget\nDTSTART:20261130T{}00Z\nDTEND:20261130T{}00Z"


def at(hour: int, minute: int = 0, day: int = 0) -> datetime:
    return DAY + timedelta(days=day, hours=hour, minutes=minute)


def meeting(start: str, end: str = "2300") -> str:
    return MEETING.format(start, end)


@pytest.fixture
def clock(plane: Plane) -> CalendarClock:
    return CalendarClock(plane)


@pytest.fixture
def file(tmp_path: Path) -> CalendarFile:
    return CalendarFile(tmp_path)


@pytest.mark.req(4, 53, 54, 160)
async def test_h1_a_moved_occurrence_fires_at_its_new_time_only(
    clock: CalendarClock, file: CalendarFile
) -> None:
    daily = "UID:gym\nDTSTART:20261130T064000Z\nRRULE:FREQ=DAILY"
    file.write(daily)
    await clock.plane.in_force(followed("gym", {"file": str(file.path)}))
    await clock.turn(at(0))
    assert await clock.to_come() == [at(6, 30), at(6, 30, day=1)]
    file.write(daily, "UID:gym\nRECURRENCE-ID:20261130T064000Z\nDTSTART:20261130T080000Z")
    for now in (at(5), at(6, 30), at(7, 50), at(8)):
        await clock.turn(now)
    assert await clock.messages() == [at(7, 50)]
    assert (at(6, 30), "removed", "removed", "anchor_moved") in await clock.instants()
    (row,) = await clock.plane.rows("select envelopes from mailbox.message")
    data = row["envelopes"][0]["data"]
    assert (data["start"], data["previous_start"]) == ("2026-11-30T08:00:00Z", "2026-11-30T06:40:00Z")
    assert data["recurrence_id"] == "2026-11-30T06:40:00Z"
    assert await clock.told() == []


async def test_h2_an_edit_of_the_zone_alone_moves_the_wake_up(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write("UID:standup\nDTSTART;TZID=Europe/Madrid:20261130T090000\nRRULE:FREQ=DAILY")
    await clock.plane.in_force(followed("standup", {"file": str(file.path), "offset": "0m"}))
    await clock.turn(at(0))
    assert await clock.to_come() == [at(8), at(8, day=1)]
    file.write("UID:standup\nDTSTART;TZID=Europe/Lisbon:20261130T090000\nRRULE:FREQ=DAILY")
    for now in (at(1), at(8), at(9)):
        await clock.turn(now)
    assert await clock.messages() == [at(9)]
    assert [row for row in await clock.instants() if row[1] == "removed"] == [
        (at(8, day=n), "removed", "removed", "anchor_moved") for n in (0, 1)
    ]
    assert await clock.told() == []


@pytest.mark.req(55)
async def test_h3_an_exception_in_a_later_version_takes_the_changed_occurrence_with_it(
    clock: CalendarClock, file: CalendarFile
) -> None:
    override = "UID:daily\nRECURRENCE-ID:20261130T120000Z\nSEQUENCE:1\nDTSTART:20261130T140000Z"
    file.write("UID:daily\nSEQUENCE:0\nDTSTART:20261130T120000Z\nRRULE:FREQ=DAILY;COUNT=1", override)
    await clock.plane.in_force(followed("daily", {"file": str(file.path)}))
    await clock.turn(at(10))
    assert await clock.to_come() == [at(13, 50)]
    master = (
        "UID:daily\nSEQUENCE:2\nDTSTART:20261130T120000Z\nRRULE:FREQ=DAILY;COUNT=1\nEXDATE:20261130T120000Z"
    )
    file.write(master, override)
    for now in (at(11), at(12), at(14)):
        await clock.turn(now)
    assert await clock.messages() == []
    assert await clock.instants() == [(at(13, 50), "removed", "removed", "anchor_removed")]
    assert await clock.told() == ["anchor_removed"]


@pytest.mark.req(55, 160)
async def test_h4_a_cancelled_entry_may_say_only_which_one_it_was(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(meeting("1500"), "UID:other\nDTSTART:20261130T160000Z")
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}))
    await clock.turn(at(10))
    file.write("UID:meeting\nSTATUS:CANCELLED", "UID:other\nDTSTART:20261130T160000Z")
    for now in (at(11), at(15), at(16)):
        await clock.turn(now)
    assert await clock.messages() == [at(15, 50)]
    assert (at(14, 50), "removed", "removed", "anchor_removed") in await clock.instants()
    (notice,) = await clock.plane.rows("select cause, text, count from mailbox.notice")
    assert notice["count"] == 1
    assert notice["text"] == (
        "prepare will not wake at 2026-11-30T14:50:00Z: 'Budget' of 2026-11-30T15:00:00Z was cancelled or removed"
    )


async def test_what_fired_and_is_moved_later_fires_again_for_the_new_start(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(meeting("1500"))
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}))
    for now in (at(10), at(14, 50), at(14, 52)):
        await clock.turn(now)
    file.write(meeting("1700"))
    for now in (at(14, 55), at(16, 50), at(17)):
        await clock.turn(now)
    assert await clock.messages() == [at(14, 50), at(16, 50)]
    report = await ledger.check(clock.plane.pool)
    assert not report.found
    assert report.ends == {"fired": 2}


@pytest.mark.req(126, 152)
async def test_a_lost_index_is_reckoned_again_and_nothing_fires_twice(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(meeting("0900"), meeting("1500").replace("meeting", "other"))
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}))
    for now in (at(8), at(8, 50)):
        await clock.turn(now)
    assert await rebuild.rebuild(clock.plane.pool) == []
    await clock.plane.pool.execute("delete from execution.calendar_instant where state = 'pending'")
    await clock.plane.pool.execute("update execution.calendar set next_due = null")
    (found,) = await rebuild.rebuild(clock.plane.pool)
    assert (found.subscription, found.columns) == ("prepare", ("pending", "next_due"))
    assert await rebuild.rebuild(clock.plane.pool) == []
    assert await clock.to_come() == [at(14, 50)]
    # All of it: the next look reads the calendar again, and what fired stays fired.
    await clock.plane.pool.execute("delete from execution.calendar")
    for now in (at(9), at(14, 50)):
        await clock.turn(now)
    assert await clock.messages() == [at(8, 50), at(14, 50)]


async def test_two_watchers_and_two_listeners_make_one_message_of_one_occurrence(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(meeting("1500"), "UID:daily\nDTSTART:20261130T150000Z\nRRULE:FREQ=DAILY")
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}))
    watchers = [clock.watcher() for _ in range(2)]
    for now in (at(10), at(10, 1), at(14, 50)):
        await asyncio.gather(*(clock.turn(now, watcher) for watcher in watchers for _ in range(2)))
    assert await clock.messages() == [at(14, 50), at(14, 50)]


class Slow:
    """A source that answers when it is let, with what it was given."""

    def __init__(self, text: str) -> None:
        self.text, self.asked, self.go = text, asyncio.Event(), asyncio.Event()

    async def look(self, source: CalendarSource, last: Last) -> Look:
        del source, last
        text = self.text
        self.asked.set()
        await self.go.wait()
        return Look({"of": text}, [Resource("", text)], is_whole=True)


async def test_who_was_overtaken_at_the_source_writes_nothing(clock: CalendarClock) -> None:
    await clock.plane.in_force(followed("prepare", {"url": "https://calendar.example/team.ics"}))
    stale, fresh = Slow(calendar(meeting("1500"))), Slow(calendar(meeting("1800")))
    fresh.go.set()
    slow = asyncio.create_task(clock.watcher(url=stale).observe(at(10)))
    await stale.asked.wait()
    # Within its lease nobody else looks; after it, another does.
    assert await clock.watcher(url=fresh).observe(at(10, 1)) == 0
    assert await clock.watcher(url=fresh).observe(at(10, 4)) == 1
    stale.go.set()
    await slow
    assert await clock.to_come() == [at(17, 50)]


class Strange:
    """A source that fails in a way that nobody thought of."""

    async def look(self, source: CalendarSource, last: Last) -> Look:
        del source, last
        raise ZeroDivisionError


async def test_one_calendar_that_fails_strangely_keeps_no_other_from_its_turn(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(meeting("1500"))
    strange = followed("strange", {"url": "https://calendar.example/team.ics"})
    await clock.plane.in_force(strange, followed("prepare", {"file": str(file.path)}))
    await clock.turn(at(10), clock.watcher(url=Strange()))
    assert await clock.to_come() == [at(14, 50)]


async def test_what_is_added_with_its_time_past_is_recorded_and_wakes_nobody(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(meeting("1500"))
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}))
    for now in (at(8), at(10)):
        await clock.turn(now)
    file.write(meeting("1500"), meeting("1005").replace("meeting", "late"))
    await clock.turn(at(10, 1))
    assert await clock.instants() == [
        (at(9, 55), "skipped", "skipped", "already_past"),
        (at(14, 50), "pending", None, None),
    ]
    assert await clock.messages() == []


async def test_a_source_that_is_away_keeps_what_was_read_and_is_told(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(meeting("1500"))
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}))
    await clock.turn(at(10))
    file.path.unlink()
    for minute in range(1, 30):
        await clock.turn(at(10, minute))
    assert await clock.told() == ["calendar_away"]
    file.path.write_text("<html>please log in</html>")
    await clock.turn(at(14))
    await clock.turn(at(14, 50))
    assert await clock.messages() == [at(14, 50)]
    (row,) = await clock.plane.rows("select failures, fault from execution.calendar")
    assert row["failures"] > 3
    assert "cannot be read" in row["fault"]


@pytest.mark.parametrize(("misfire", "fired"), [("skip", []), ("latest", [11]), ("all", [9, 10, 11])])
async def test_what_was_missed_follows_misfire(
    clock: CalendarClock, file: CalendarFile, misfire: str, fired: list[int]
) -> None:
    file.write(*(f"UID:m{hour}\nDTSTART:20261130T{hour:02}1000Z" for hour in (9, 10, 11)))
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}, misfire=misfire))
    await clock.turn(at(8))
    await clock.turn(at(11, 30))
    assert await clock.messages() == [at(hour) for hour in fired]
    ends = [(state, reason) for _, state, _, reason in await clock.instants()]
    assert sorted(ends, key=str) == sorted(
        [("emitted", "delivered")] * len(fired) + [("skipped", "misfire")] * (3 - len(fired)), key=str
    )


async def test_a_pause_a_stop_and_an_end_leave_nothing_silent(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write(*(f"UID:m{hour}\nDTSTART:20261130T{hour:02}1000Z" for hour in range(9, 14)))
    source = {"file": str(file.path)}
    await clock.plane.in_force(followed("prepare", source))
    await clock.turn(at(8))
    await clock.plane.in_force(followed("prepare", source, state="paused", version=2))
    await clock.turn(at(9))
    await clock.plane.in_force(followed("prepare", source, version=3))
    await clock.plane.pool.execute(
        "insert into mailbox.stop (scope, reason, principal) values ($1, 'fire', 'u')", TENANT
    )
    await clock.turn(at(10))
    assert await clock.to_come() == [at(hour) for hour in range(10, 14)]
    await clock.plane.pool.execute("delete from mailbox.stop")
    await clock.turn(at(10, 30))
    await clock.plane.in_force()
    await clock.turn(at(11, 30))
    await clock.plane.in_force(followed("prepare", source, version=3))
    for hour in (12, 13):
        await clock.turn(at(hour, 30))
    assert await clock.instants() == [
        (at(9), "skipped", "skipped", "paused"),
        (at(10), "emitted", "delivered", "delivered"),
        (at(11), "skipped", "skipped", "revoked"),
        (at(12), "skipped", "skipped", "revoked"),
        (at(13), "emitted", "delivered", "delivered"),
    ]


async def test_an_edit_reckons_anew_and_another_place_is_another_calendar(
    clock: CalendarClock, file: CalendarFile, tmp_path: Path
) -> None:
    file.write(meeting("1500"))
    await clock.plane.in_force(followed("prepare", {"file": str(file.path)}))
    await clock.turn(at(10))
    edited = {"file": str(file.path), "offset": "-30m"}
    await clock.plane.in_force(followed("prepare", edited, version=2))
    await clock.turn(at(10, 0))
    assert await clock.to_come() == [at(14, 30)]
    other = tmp_path / "other.ics"
    other.write_text(calendar("UID:x\nDTSTART:20261130T120000Z"))
    await clock.plane.in_force(followed("prepare", {"file": str(other)}, version=3, since=at(10, 1)))
    await clock.turn(at(10, 1))
    assert await clock.to_come() == [at(11, 50)]
    assert await clock.told() == []
    await clock.plane.in_force(followed("prepare", {"file": str(other)}, version=4, state="deleted"))
    await clock.turn(at(12))
    assert await clock.messages() == []
    assert [(state, reason) for _, state, _, reason in await clock.instants()] == [
        ("skipped", "deleted"),
        ("removed", "edited"),
        ("removed", "edited"),
    ]


@pytest.mark.req(53, 54)
async def test_a_date_of_the_platform_itself_is_followed_when_it_moves(clock: CalendarClock) -> None:
    def watched(expires: str, version: int) -> Any:
        return followed("refunds", {"file": "/none.ics"}, version=version, limits={"expires": expires})

    reminder = followed("renew", {"object": {"name": "refunds"}, "offset": "-1h"})
    await clock.plane.in_force(watched("2026-11-30T12:00:00Z", 1), reminder)
    watcher = clock.watcher()
    await clock.turn(at(9), watcher)
    assert await clock.to_come() == [at(11)]
    await clock.plane.in_force(watched("2026-11-30T16:00:00Z", 2), reminder)
    for now in (at(9, 1), at(11), at(15)):
        await clock.turn(now, watcher)
    assert await clock.messages() == [at(15)]
    await clock.plane.in_force(watched("2026-12-01T16:00:00Z", 3), reminder)
    await clock.turn(at(15, 1), watcher)
    assert await clock.to_come() == [at(15, day=1)]
    await clock.plane.in_force(reminder)
    await clock.turn(at(15, 2), watcher)
    assert await clock.to_come() == []
    assert "anchor_removed" in await clock.told()


async def test_the_end_of_an_event_moves_its_wake_up_too(clock: CalendarClock, file: CalendarFile) -> None:
    file.write(meeting("1500", "1600"))
    await clock.plane.in_force(followed("minutes", {"file": str(file.path), "anchor": "end", "offset": "5m"}))
    await clock.turn(at(10))
    file.write(meeting("1500", "1700"))
    for now in (at(11), at(16, 5), at(17, 5)):
        await clock.turn(now)
    assert await clock.messages() == [at(17, 5)]


@pytest.mark.req(53)
async def test_tasks_wake_at_their_due_time_unless_they_are_done(
    clock: CalendarClock, file: CalendarFile
) -> None:
    file.write("UID:a\nDUE:20261130T150000Z", "UID:b\nDUE:20261130T150000Z", kind="VTODO")
    await clock.plane.in_force(followed("tasks", {"file": str(file.path), "anchor": "due"}))
    await clock.turn(at(10))
    file.write("UID:a\nDUE:20261130T150000Z\nSTATUS:COMPLETED", "UID:b\nDUE:20261130T150000Z", kind="VTODO")
    for now in (at(11), at(14, 50)):
        await clock.turn(now)
    assert await clock.messages() == [at(14, 50)]
    assert sorted(str(reason) for _, _, _, reason in await clock.instants()) == [
        "anchor_removed",
        "delivered",
    ]
