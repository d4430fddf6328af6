"""What a new reading of a calendar changes, without any database."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from sereno.envelope import dedup_key
from sereno.execution_plane.listeners.calendar.followed import Due, Followed
from sereno.execution_plane.listeners.calendar.occurrence import MAX_WANTED, Occurrence, read, whereabouts
from sereno.execution_plane.listeners.calendar.plan import (
    ALREADY_PAST,
    EDITED,
    MOVED,
    REMOVED,
    Bounds,
    Known,
    plan,
    settle,
)
from sereno.execution_plane.listeners.calendar.signal import of_occurrence
from sereno.execution_plane.listeners.schedule import Misfire
from sereno.subscriptions.models.source import CalendarSource

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BEFORE = Bounds(NOW - HOUR)


def occurrence(after: timedelta, uid: str = "meeting", recurrence: datetime | None = None) -> Occurrence:
    start = NOW + after
    return Occurrence(uid, recurrence, start, start, start - 10 * MINUTE, -10 * MINUTE)


def known(*occurrences: Occurrence, state: str = "pending") -> Mapping[str, Known]:
    return {each.key: Known(each, state) for each in occurrences}  # type: ignore[arg-type]


def calendar(*entries: str) -> str:
    body = "".join(f"BEGIN:VEVENT\r\n{entry}\r\nEND:VEVENT\r\n" for entry in entries)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{body}END:VCALENDAR\r\n"


def source(**fields: object) -> CalendarSource:
    return CalendarSource.model_validate({"file": "/team.ics", "offset": "-10m", **fields})


def test_what_is_new_is_to_come_and_what_is_known_stays() -> None:
    old, new = occurrence(HOUR), occurrence(2 * HOUR, "other")
    found = plan([old, new], known(old), {}, BEFORE)
    assert [(each.occurrence, each.left_out) for each in found.additions] == [(new, None)]
    assert not found.removals


def test_a_moved_occurrence_says_where_it_was() -> None:
    old, new = occurrence(HOUR), occurrence(3 * HOUR)
    found = plan([new], known(old), {old.entry: old}, BEFORE)
    assert [(each.occurrence, each.previous) for each in found.additions] == [(new, old)]
    assert [(each.occurrence, each.reason) for each in found.removals] == [(old, MOVED)]


def test_a_rule_edited_as_a_whole_moves_each_occurrence_and_cancels_none() -> None:
    days = [occurrence(n * DAY, recurrence=NOW + n * DAY) for n in range(3)]
    moved = [occurrence(n * DAY + HOUR, recurrence=NOW + n * DAY + HOUR) for n in range(3)]
    found = plan(moved, known(*days), {}, BEFORE)
    assert [each.previous for each in found.additions] == days
    assert {each.reason for each in found.removals} == {MOVED}


def test_one_left_out_of_a_rule_is_removed_and_taken_for_no_other() -> None:
    days = [occurrence(n * DAY, recurrence=NOW + n * DAY) for n in range(3)]
    later = occurrence(3 * DAY, recurrence=NOW + 3 * DAY)
    found = plan([days[0], days[2], later], known(*days), {}, BEFORE)
    assert [(each.occurrence, each.reason) for each in found.removals] == [(days[1], REMOVED)]
    assert [each.previous for each in found.additions] == [None]


def test_what_fired_and_was_moved_later_is_to_come_again() -> None:
    fired, later = occurrence(-HOUR), occurrence(2 * HOUR)
    found = plan([later], known(fired, state="emitted"), {fired.entry: fired}, BEFORE)
    assert [(each.occurrence, each.previous, each.left_out) for each in found.additions] == [
        (later, fired, None)
    ]
    assert not found.removals


def test_what_fired_fires_no_more_where_it_is() -> None:
    fired = occurrence(-HOUR)
    assert not plan([fired], known(fired, state="emitted"), {fired.entry: fired}, BEFORE).additions


def test_what_was_cancelled_and_comes_back_is_to_come() -> None:
    back = occurrence(HOUR)
    found = plan([back], known(back, state="removed"), {back.entry: back}, BEFORE)
    assert [(each.occurrence, each.previous) for each in found.additions] == [(back, None)]


def test_what_is_seen_too_late_is_recorded_with_the_reason() -> None:
    past, inside = occurrence(-2 * HOUR, "past"), occurrence(-20 * MINUTE, "inside")
    found = plan([past, inside], {}, {}, Bounds(NOW - HOUR, NOW, "revoked"))
    assert [each.left_out for each in found.additions] == [ALREADY_PAST, "revoked"]


def test_an_edit_of_the_subscription_cancels_nothing_of_the_calendar() -> None:
    old = occurrence(HOUR)
    assert [each.reason for each in plan([], known(old), {}, BEFORE, edited=True).removals] == [EDITED]


@pytest.mark.parametrize(
    ("misfire", "paused", "emitted", "reasons"),
    [
        ("skip", False, [2], ["misfire", "misfire"]),
        ("latest", False, [2], ["misfire", "misfire"]),
        ("all", False, [0, 1, 2], []),
        ("all", True, [], ["paused"] * 3),
    ],
)
def test_misfire_decides_on_what_is_late(
    misfire: Misfire, paused: bool, emitted: list[int], reasons: list[str]
) -> None:
    due = [occurrence(n * MINUTE) for n in (-10, -5, 10)]
    found = settle(due, misfire, NOW, paused=paused)
    assert list(found.emit) == [due[n] for n in emitted]
    assert [each.reason for each in found.left_out] == reasons


def test_the_latest_that_was_missed_is_saved_when_nothing_else_is_due() -> None:
    due = [occurrence(-10 * MINUTE), occurrence(-5 * MINUTE), occurrence(-5 * MINUTE, "beside it")]
    found = settle(due, "latest", NOW)
    assert list(found.emit) == due[1:]
    assert [each.occurrence for each in found.left_out] == due[:1]


def test_reading_chooses_by_category_and_expression() -> None:
    text = calendar(
        "UID:a\r\nDTSTART:20261130T150000Z\r\nSUMMARY:Budget\\, part 1\r\nCATEGORIES:board,money",
        "UID:b\r\nDTSTART:20261130T160000Z\r\nSUMMARY:Lunch",
    )
    for select in ({"category": "money"}, {"uid": "a"}, {"cel": "data.summary.startsWith('Budget')"}):
        found = read([text], source(select=select), None, NOW, NOW + DAY)
        (one,) = found.wanted
        assert one.uid == "a"
        assert one.facts == {"kind": "event", "summary": "Budget, part 1", "categories": ["board", "money"]}
        assert one.fire == datetime(2026, 11, 30, 14, 50, tzinfo=UTC)


def test_times_without_a_zone_are_read_in_the_one_given_or_refused() -> None:
    text = calendar("UID:a\r\nDTSTART:20261130T150000")
    refused = read([text], source(), None, NOW, NOW + DAY)
    assert not refused.wanted
    assert "zone" in refused.refused[0]
    (one,) = read([text], source(), "Europe/Madrid", NOW, NOW + DAY).wanted
    assert one.start == datetime(2026, 11, 30, 14, tzinfo=UTC)


def test_one_entry_that_cannot_be_read_does_not_hide_the_others() -> None:
    text = calendar(
        "UID:bad\r\nDTSTART:20261130T150000Z\r\nRRULE:FREQ=NEVER", "UID:good\r\nDTSTART:20261130T160000Z"
    )
    found = read([text], source(), None, NOW, NOW + DAY)
    assert [each.uid for each in found.wanted] == ["good"]
    assert "bad" in found.refused[0]


def test_an_endless_rule_is_bounded_and_says_how_far_it_is_known() -> None:
    text = calendar("UID:a\r\nDTSTART:20261130T120000Z\r\nRRULE:FREQ=SECONDLY")
    found = read([text], source(), None, NOW - HOUR, NOW + 2 * DAY)
    assert len(found.wanted) == MAX_WANTED
    assert found.until == found.wanted[-1].fire < NOW + 2 * HOUR


def test_tasks_that_are_done_or_cancelled_have_no_anchor() -> None:
    text = (
        "BEGIN:VCALENDAR\r\n"
        "BEGIN:VTODO\r\nUID:open\r\nDTSTART:20261130T130000Z\r\nDUE:20261130T180000Z\r\nEND:VTODO\r\n"
        "BEGIN:VTODO\r\nUID:done\r\nDUE:20261130T180000Z\r\nSTATUS:COMPLETED\r\nEND:VTODO\r\n"
        "BEGIN:VTODO\r\nUID:off\r\nDUE:20261130T180000Z\r\nSTATUS:CANCELLED\r\nEND:VTODO\r\n"
        "END:VCALENDAR\r\n"
    )
    for anchor, hour in (("due", 18), ("start", 13)):
        (one,) = read([text], source(anchor=anchor), None, NOW, NOW + DAY).wanted
        assert (one.uid, one.anchor.hour, one.facts["kind"]) == ("open", hour, "task")


def test_an_occurrence_moved_beyond_the_horizon_takes_place_all_the_same() -> None:
    days = "UID:a\r\nDTSTART:20261130T150000Z\r\nRRULE:FREQ=DAILY;COUNT=5"
    (first, second) = read([calendar(days)], source(), None, NOW, NOW + 2 * DAY).wanted
    later = calendar(days, "UID:a\r\nRECURRENCE-ID:20261130T150000Z\r\nDTSTART:20270220T150000Z")
    assert whereabouts([later], source(), None, [first]) == {first.entry}
    without = calendar(days + "\r\nEXDATE:20261201T150000Z")
    assert whereabouts([without], source(), None, [first, second]) == {first.entry}


def test_the_signal_carries_old_and_new_times_as_data_that_is_not_trusted() -> None:
    followed = Followed("acme", "id", "prepare", 3, source(), "latest", False, None, None, NOW)
    one = occurrence(HOUR, recurrence=NOW)
    signal = of_occurrence(Due(followed, one, NOW, NOW), "rcp", NOW + MINUTE)
    assert (signal.type, signal.origin, signal.trust) == (
        "sereno.calendar.due",
        "calendar/prepare",
        "untrusted",
    )
    assert (signal.time, signal.recordedtime, signal.subject) == (one.fire, NOW + MINUTE, "meeting")
    assert signal.dedupkey == one.key
    assert signal.data == {
        "trust": "untrusted",
        "uid": "meeting",
        "recurrence_id": "2026-11-30T12:00:00Z",
        "start": "2026-11-30T13:00:00Z",
        "anchor": "start",
        "anchor_time": "2026-11-30T13:00:00Z",
        "previous_start": "2026-11-30T12:00:00Z",
        "previous_anchor_time": "2026-11-30T12:00:00Z",
        "late_seconds": -2940.0,
    }


def test_a_key_names_the_occurrence_its_time_and_the_offset_and_fits_an_index() -> None:
    key = occurrence(HOUR, "a@b#c", NOW).key
    assert key == "calendar:a%40b%23c@2026-11-30T12:00:00Z@2026-11-30T13:00:00Z@-600"
    assert len(occurrence(HOUR, "x" * 5_000).key) < 100
    with pytest.raises(ValueError, match="offset"):
        dedup_key.of_calendar("a", None, NOW.replace(tzinfo=None), HOUR)
