"""What becomes of a rule when the clock changes, under every policy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.subscriptions.recurrence.local_time import Gap, Overlap, Policy
from tests.clock_changes import changes, faults, zone_names
from tests.unit.subscriptions.recurrence.asking import first, series

NEW_YORK = "America/New_York"


@pytest.mark.req(51, 169)
@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        ("shift", ["2026-03-07T07:30", "2026-03-08T07:30", "2026-03-09T06:30"]),
        ("skip", ["2026-03-07T07:30", "2026-03-09T06:30", "2026-03-10T06:30"]),
    ],
)
@pytest.mark.parametrize("overlap", ["first", "second", "both"])
def test_b2_q55_a_daily_time_in_the_gap(gap: Gap, overlap: Overlap, expected: list[str]) -> None:
    rule = series("FREQ=DAILY;COUNT=3", "2026-03-07T02:30", NEW_YORK, Policy(gap, overlap))
    assert first(rule, 9) == expected


@pytest.mark.req(51, 169)
@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("first", ["2026-10-31T05:30", "2026-11-01T05:30", "2026-11-02T06:30"]),
        ("second", ["2026-10-31T05:30", "2026-11-01T06:30", "2026-11-02T06:30"]),
        ("both", ["2026-10-31T05:30", "2026-11-01T05:30", "2026-11-01T06:30", "2026-11-02T06:30"]),
    ],
)
@pytest.mark.parametrize("gap", ["shift", "skip"])
def test_b2_q55_a_daily_time_in_the_overlap(gap: Gap, overlap: Overlap, expected: list[str]) -> None:
    rule = series("FREQ=DAILY;COUNT=3", "2026-10-31T01:30", NEW_YORK, Policy(gap, overlap))
    assert first(rule, 9) == expected


@pytest.mark.req(50, 51)
def test_b1_a_time_of_day_keeps_its_clock_over_both_changes() -> None:
    rule = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=2"
    assert first(series(rule, "2026-10-23T09:00", "Europe/Berlin"), 9) == [
        "2026-10-23T07:00",
        "2026-10-26T08:00",
    ]
    assert first(series(rule, "2027-03-26T09:00", "Europe/Berlin"), 9) == [
        "2027-03-26T08:00",
        "2027-03-29T07:00",
    ]


@pytest.mark.req(51)
def test_b3_every_15_minutes_fires_four_times_in_each_real_hour_of_an_overlap() -> None:
    found = first(series("FREQ=MINUTELY;INTERVAL=15", "2026-11-01T00:30", NEW_YORK), 16)
    assert found == [f"2026-11-01T{4 + n // 4:02}:{n % 4 * 15:02}" for n in range(2, 18)]


@pytest.mark.req(50, 51)
def test_b5_a_date_after_the_change_has_the_offset_of_that_date() -> None:
    assert first(series("", "2026-04-01T09:00", NEW_YORK), 9) == ["2026-04-01T13:00"]


@pytest.mark.req(51)
@pytest.mark.parametrize(
    ("zone", "start", "expected"),
    [
        # The day begins at 01:00: midnight moves by the length of the gap.
        ("America/Sao_Paulo", "2018-11-03", ["2018-11-03T03:00", "2018-11-04T03:00", "2018-11-05T02:00"]),
        ("Africa/Cairo", "2026-04-23", ["2026-04-22T22:00", "2026-04-23T22:00", "2026-04-24T21:00"]),
        ("Asia/Beirut", "2026-03-28", ["2026-03-27T22:00", "2026-03-28T22:00", "2026-03-29T21:00"]),
        # Half an hour: 02:15 does not exist on 4 October.
        (
            "Australia/Lord_Howe",
            "2026-10-03T02:15",
            ["2026-10-02T15:45", "2026-10-03T15:45", "2026-10-04T15:15"],
        ),
        # 30 December was left out: its 09:00 and that of the 31st are one instant.
        ("Pacific/Apia", "2011-12-29T09:00", ["2011-12-29T19:00", "2011-12-30T19:00", "2011-12-31T19:00"]),
        # Winter time is the one that is "saved".
        ("Europe/Dublin", "2026-03-28T01:30", ["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30"]),
        # The clock goes back for Ramadan and forward after it.
        (
            "Africa/Casablanca",
            "2026-02-14T02:30",
            ["2026-02-14T01:30", "2026-02-15T01:30", "2026-02-16T02:30"],
        ),
    ],
)
def test_unusual_changes(zone: str, start: str, expected: list[str]) -> None:
    assert first(series("FREQ=DAILY", start, zone), 3) == expected


@pytest.mark.req(51, 160, 169)
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(zone_names()), st.integers(0, 10_000))
def test_nothing_is_lost_or_doubled_around_any_change_of_any_zone(name: str, number: int) -> None:
    known = changes(name)
    if known:
        assert list(faults(name, known[number % len(known)])) == []


@pytest.mark.req(51)
@pytest.mark.parametrize("name", ["Australia/Lord_Howe", "Africa/Cairo", "Antarctica/Troll"])
def test_nothing_is_lost_or_doubled_around_the_oddest_changes(name: str) -> None:
    assert [fault for change in changes(name)[:2] for fault in faults(name, change)] == []
