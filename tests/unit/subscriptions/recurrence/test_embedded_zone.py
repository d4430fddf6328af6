"""Zones that a calendar defines itself."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.recurrence.calendar_text import parse_calendar
from sereno.subscriptions.recurrence.calendar_values import zones_of
from sereno.subscriptions.recurrence.refusal import Refused
from tests.unit.subscriptions.recurrence.asking import calendar, first, of_text

EASTERN = """BEGIN:VTIMEZONE
TZID:Office
BEGIN:DAYLIGHT
DTSTART:20070311T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
END:DAYLIGHT
BEGIN:STANDARD
DTSTART:20071104T020000
RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
END:STANDARD
END:VTIMEZONE
"""
ENDED = EASTERN.replace("BYDAY=2SU", "BYDAY=2SU;UNTIL=20260308T070000Z").replace(
    "BYDAY=1SU", "BYDAY=1SU;UNTIL=20251102T060000Z"
)
OFFICE = zones_of(parse_calendar(calendar(zones=EASTERN)).zones)("Office")
NEW_YORK = ZoneInfo("America/New_York")
minutes = st.integers(0, 60 * 24 * 365 * 60).map(
    lambda n: datetime(2008, 1, 1, tzinfo=UTC) + timedelta(minutes=n)
)
near_changes = st.tuples(
    st.sampled_from([(2026, 3, 8, 7), (2026, 11, 1, 6), (2057, 3, 11, 7), (2057, 11, 4, 6)]),
    st.integers(-200, 200),
).map(lambda found: datetime(*found[0], tzinfo=UTC) + timedelta(minutes=found[1]))


@given(st.one_of(minutes, near_changes))
def test_its_clock_is_that_of_the_same_rules_elsewhere(instant: datetime) -> None:
    ours, theirs = instant.astimezone(OFFICE), instant.astimezone(NEW_YORK)
    assert (ours.replace(tzinfo=None), ours.fold) == (theirs.replace(tzinfo=None), theirs.fold)
    assert ours.utcoffset() == theirs.utcoffset()


@given(st.one_of(minutes, near_changes), st.integers(0, 1))
def test_local_times_are_read_alike_also_in_gaps_and_overlaps(instant: datetime, fold: int) -> None:
    local = (instant - timedelta(hours=5)).replace(fold=fold)
    assert local.replace(tzinfo=OFFICE).utcoffset() == local.replace(tzinfo=NEW_YORK).utcoffset()


def test_a_zone_may_end_its_rules_and_add_dates() -> None:
    entry = ("DTSTART;TZID=Office:20261101T090000", "RRULE:FREQ=DAILY;COUNT=2")
    # The last change is that to summer time in 2026, which UNTIL states in UTC.
    assert first(of_text(calendar(entry, zones=ENDED)), 2) == ["2026-11-01T13:00", "2026-11-02T13:00"]
    with_date = ENDED.replace("END:STANDARD", "RDATE:20261102T020000\r\nEND:STANDARD")
    assert first(of_text(calendar(entry, zones=with_date)), 2) == ["2026-11-01T13:00", "2026-11-02T14:00"]


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("BEGIN:VTIMEZONE\r\nTZID:Office\r\nEND:VTIMEZONE\r\n", "expected at least one STANDARD or DAYLIGHT"),
        (EASTERN.replace("TZOFFSETTO:-0400", "TZOFFSETTO:4"), "TZOFFSETTO:4: expected an offset"),
        (EASTERN.replace("TZOFFSETTO:-0400", "TZOFFSETTO:-9900"), "expected less than a day"),
        (EASTERN.replace("DTSTART:20070311T020000\n", ""), "without DTSTART"),
        (EASTERN.replace("BYMONTH=3", "BYMONTH=13"), "BYMONTH=13"),
        (EASTERN.replace("FREQ=YEARLY;BYMONTH=3;BYDAY=2SU", "FREQ=SECONDLY"), "no answer within"),
    ],
)
def test_a_zone_that_cannot_be_read_is_refused_where_it_is_used(zone: str, said: str) -> None:
    used = ("DTSTART;TZID=Office:20260601T090000",)
    with pytest.raises(Refused, match=said):
        first(of_text(calendar(used, zones=zone)), 1)
    assert first(of_text(calendar(("DTSTART:20260601T090000Z",), zones=zone)), 1) == ["2026-06-01T09:00"]
