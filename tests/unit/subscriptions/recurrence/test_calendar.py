"""Series in calendars: what is added, left out, moved, cancelled; zones; what is bounded."""

import time
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from sereno.subscriptions.recurrence.anchored import Anchor, fires, read_all
from sereno.subscriptions.recurrence.calendar_text import MAX_BYTES, parse_calendar
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.series import occurrences
from tests.unit.subscriptions.recurrence.asking import calendar, first, of_text

DAILY = ("DTSTART;TZID=Europe/Madrid:20260601T064000", "RRULE:FREQ=DAILY;COUNT=3")
MOVED = ("RECURRENCE-ID;TZID=Europe/Madrid:20260602T064000", "DTSTART;TZID=Europe/Madrid:20260602T080000")


def fired(text: str, offset: timedelta, anchor: Anchor = "start") -> list[str]:
    series, refused = read_all(parse_calendar(text))
    assert refused == []
    return [f"{each.fire:%Y-%m-%dT%H:%M}" for each in islice(fires(series, anchor, offset), 20)]


@pytest.mark.req(53, 54, 160)
def test_h1_a_moved_occurrence_fires_at_its_new_time_only() -> None:
    found = fired(calendar(DAILY, MOVED), -timedelta(minutes=10))
    assert found == ["2026-06-01T04:30", "2026-06-02T05:50", "2026-06-03T04:30"]


@pytest.mark.req(54, 160)
def test_h2_an_edit_of_the_zone_alone_moves_the_fire() -> None:
    madrid = calendar(("DTSTART;TZID=Europe/Madrid:20260601T090000",))
    assert fired(madrid, timedelta()) == ["2026-06-01T07:00"]
    assert fired(madrid.replace("Madrid", "Lisbon"), timedelta()) == ["2026-06-01T08:00"]


@pytest.mark.req(55, 160)
def test_h3_an_exception_in_a_later_version_takes_the_changed_occurrence_with_it() -> None:
    later = (*DAILY, "SEQUENCE:2", "EXDATE;TZID=Europe/Madrid:20260602T064000")
    assert first(of_text(calendar(MOVED, DAILY, later)), 9) == ["2026-06-01T04:40", "2026-06-03T04:40"]


@pytest.mark.req(55, 160)
def test_h4_a_cancelled_entry_may_say_only_which_one_it_was() -> None:
    cancelled = ("RECURRENCE-ID;TZID=Europe/Madrid:20260602T064000", "STATUS:CANCELLED")
    assert first(of_text(calendar(DAILY, cancelled)), 9) == ["2026-06-01T04:40", "2026-06-03T04:40"]
    assert fired(calendar(("STATUS:CANCELLED",)), timedelta()) == []
    assert fired(calendar(DAILY, properties="METHOD:CANCEL\r\n"), timedelta()) == []
    assert fired(calendar((*DAILY, "SEQUENCE:1", "STATUS:CANCELLED"), DAILY), timedelta()) == []


@pytest.mark.req(53, 160)
def test_anchors_at_the_end_follow_dtend_duration_and_the_kind_of_entry() -> None:
    start = "DTSTART;TZID=Europe/Madrid:20260329T010000"
    assert fired(calendar((start, "DURATION:PT2H")), timedelta(), "end") == ["2026-03-29T02:00"]
    assert fired(calendar((start, "DURATION:P1D")), timedelta(), "end") == ["2026-03-29T23:00"]
    ends = "DTEND;TZID=Europe/Madrid:20260329T040000"
    assert fired(calendar((start, ends)), timedelta(), "end") == ["2026-03-29T02:00"]
    assert fired(calendar((start,)), timedelta(), "end") == ["2026-03-29T00:00"]
    assert fired(calendar((start,)), timedelta(), "due") == []
    assert fired(calendar(("DTSTART;VALUE=DATE:20260601",)), timedelta(), "end") == ["2026-06-02T00:00"]


@pytest.mark.req(53, 55, 160)
def test_tasks_are_due_until_they_are_done() -> None:
    task = calendar(("DUE:20260602T060000Z",)).replace("VEVENT", "VTODO")
    assert fired(task, -timedelta(minutes=10), "due") == ["2026-06-02T05:50"]
    assert fired(task, timedelta(), "start") == []
    for done in ("STATUS:COMPLETED", "COMPLETED:20260601T000000Z", "STATUS:CANCELLED"):
        assert fired(task.replace("DUE:", f"{done}\r\nDUE:"), timedelta(), "due") == []


def test_the_lengths_of_periods_and_changed_occurrences_are_their_own() -> None:
    entry = (
        "DTSTART:20260601T090000Z",
        "DTEND:20260601T100000Z",
        "RRULE:FREQ=DAILY;COUNT=2",
        "RDATE;VALUE=PERIOD:20260601T200000Z/PT30M",
    )
    changed = ("RECURRENCE-ID:20260602T090000Z", "DTSTART:20260602T090000Z", "DTEND:20260602T140000Z")
    assert fired(calendar(entry, changed), timedelta(), "end") == [
        "2026-06-01T10:00",
        "2026-06-01T20:30",
        "2026-06-02T14:00",
    ]


def test_this_and_future_keeps_its_clock_over_a_change_and_yields_to_single_changes() -> None:
    weekly = ("DTSTART;TZID=America/New_York:20261019T090000", "RRULE:FREQ=WEEKLY;COUNT=4")
    later = (
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=America/New_York:20261026T090000",
        "DTSTART;TZID=America/New_York:20261026T100000",
    )
    single = (
        "RECURRENCE-ID;TZID=America/New_York:20261109T090000",
        "DTSTART;TZID=America/New_York:20261109T120000",
    )
    assert first(of_text(calendar(weekly, later, single)), 9) == [
        "2026-10-19T13:00",
        "2026-10-26T14:00",
        "2026-11-02T15:00",
        "2026-11-09T17:00",
    ]


def test_this_and_future_may_end_an_endless_series_or_move_it_far_back() -> None:
    endless = ("DTSTART:20260601T090000Z", "RRULE:FREQ=DAILY")
    ended = ("RECURRENCE-ID;RANGE=THISANDFUTURE:20260603T090000Z", "STATUS:CANCELLED")
    assert first(of_text(calendar(endless, ended)), 9) == ["2026-06-01T09:00", "2026-06-02T09:00"]
    back = ("RECURRENCE-ID;RANGE=THISANDFUTURE:20260603T090000Z", "DTSTART:20260527T080000Z")
    assert first(of_text(calendar(endless, back)), 4) == [
        "2026-05-27T08:00",
        "2026-05-28T08:00",
        "2026-05-29T08:00",
        "2026-05-30T08:00",
    ]


def test_a_day_names_the_occurrence_of_that_day() -> None:
    by_day = ("RECURRENCE-ID;VALUE=DATE:20260602", "DTSTART;TZID=Europe/Madrid:20260602T080000")
    assert first(of_text(calendar(DAILY, by_day)), 9)[1] == "2026-06-02T06:00"
    left_out = (*DAILY, "EXDATE;VALUE=DATE:20260602")
    assert first(of_text(calendar(left_out)), 9) == ["2026-06-01T04:40", "2026-06-03T04:40"]


def test_excluded_rules_leave_out_what_they_name() -> None:
    text = calendar(("DTSTART:20260601T090000Z", "RRULE:FREQ=DAILY;COUNT=5", "EXRULE:FREQ=DAILY;INTERVAL=2"))
    assert first(of_text(text), 9) == ["2026-06-02T09:00", "2026-06-04T09:00"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("DTSTART;TZID=Mars/Olympus:20260601T090000",), "unknown time zone 'Mars/Olympus'"),
        (("DTSTART;TZID=../../etc/passwd:20260601T090000",), "unknown time zone"),
        (("DTSTART;TZID=Europe/Madrid:20260601T090000Z",), "is in UTC and names the zone"),
        (("SUMMARY:nothing",), "DTSTART: expected when it happens"),
        (("DTSTART:20260601T090000Z", "DTSTART:20260602T090000Z"), "2 DTSTART properties"),
        (("DTSTART:2026-13-01",), "is no date or time"),
        (("DTSTART:20260601T090000Z", "RDATE;VALUE=DATE:20260605"), "RDATE 2026-06-05: expected a time"),
        (("DTSTART;VALUE=DATE:20260601", "RRULE:FREQ=HOURLY"), "FREQ=HOURLY with a whole day"),
        (("DTSTART:20260601T090000Z", "SEQUENCE:x"), "SEQUENCE:x: expected a whole number"),
        (("DTSTART:20260601T090000Z", "DURATION:1h"), "expected a duration such as PT30M"),
    ],
)
def test_an_entry_is_refused_with_what_was_expected(lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(Refused, match=said.replace("(", r"\(")):
        first(of_text(calendar(lines)), 1)


@pytest.mark.parametrize(
    "name", ["W. Europe Standard Time", "/mozilla.org/20050126_1/Europe/Berlin", '"Europe/Berlin"']
)
def test_other_names_of_zones(name: str) -> None:
    assert first(of_text(calendar((f"DTSTART;TZID={name}:20260601T090000",))), 1) == ["2026-06-01T07:00"]


def test_one_entry_that_cannot_be_read_does_not_hide_the_others() -> None:
    good = "BEGIN:VEVENT\r\nUID:good\r\nDTSTART:20260601T090000Z\r\nEND:VEVENT\r\n"
    text = calendar(("DTSTART;TZID=Mars/Olympus:20260601T090000",), zones=good)
    series, refused = read_all(parse_calendar(text))
    assert [each.uid for each in series] == ["good"]
    assert [(each.uid, each.refusal.code) for each in refused] == [("u", "unknown_zone")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "starts with BEGIN:VCALENDAR"),
        ("hello", "starts with BEGIN:VCALENDAR"),
        ("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n", "VEVENT is not ended"),
        ("BEGIN:VCALENDAR\r\nEND:VEVENT\r\n", "does not end what was begun last"),
        ("BEGIN:VCALENDAR\r\n" * 20, "nested deeper"),
        (b"BEGIN:VCALENDAR\r\nSUMMARY:\xff\xfe\r\nEND:VCALENDAR", "not UTF-8"),
        ("BEGIN:VCALENDAR\r\n" + "x" * MAX_BYTES, "expected at most"),
        ("BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nEND:VTIMEZONE\r\nEND:VCALENDAR\r\n", "without TZID"),
    ],
)
def test_text_that_is_no_calendar(text: str | bytes, said: str) -> None:
    with pytest.raises(Refused, match=said):
        parse_calendar(text)


def test_folded_lines_a_byte_order_mark_and_bare_newlines_are_read() -> None:
    folded = "\ufeff" + calendar(("DTSTART;TZID=Europe/\r\n Madrid:20260601T09\r\n\t0000",)).replace(
        "\r\n", "\n"
    )
    assert first(of_text(folded), 1) == ["2026-06-01T07:00"]


def test_many_changed_occurrences_and_a_large_calendar_are_bounded() -> None:
    day = datetime(2020, 1, 1, 9, tzinfo=UTC)
    changed = [
        (f"RECURRENCE-ID:{when:%Y%m%dT%H%M%S}Z", f"DTSTART:{when + timedelta(hours=1):%Y%m%dT%H%M%S}Z")
        for when in (day + timedelta(days=n) for n in range(10_000))
    ]
    text = calendar(("DTSTART:20200101T090000Z", "RRULE:FREQ=DAILY"), *changed)
    padded = text.replace("END:VCALENDAR", "X-PADDING:" + "x" * (5_000_000 - len(text)) + "\r\nEND:VCALENDAR")
    begun = time.process_time()
    found = list(islice(occurrences(of_text(padded)), 10_001))
    assert time.process_time() - begun < 20
    assert {each.instant.hour for each in found[:10_000]} == {10}
    assert found[10_000].instant.hour == 9


def test_too_many_times_are_refused() -> None:
    with pytest.raises(Refused, match="more than 100000 values"):
        of_text(calendar(("DTSTART:20260601T090000Z", "RDATE:" + ",".join(["20260602T090000Z"] * 100_002))))
