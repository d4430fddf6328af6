"""Calendar periods and quiet hours, on ordinary days and where the clocks change."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.subscriptions.period import bounds, opening
from sereno.subscriptions.quiet_hours import Quiet
from sereno.subscriptions.rate import Period

NEW_YORK, MADRID, KOLKATA = map(ZoneInfo, ("America/New_York", "Europe/Madrid", "Asia/Kolkata"))
INSTANTS = st.integers(0, 2**31 - 86_400).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
PERIODS: tuple[Period, ...] = ("min", "hour", "day", "week", "month")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("per", "zone", "at", "starts", "ends"),
    [
        ("min", MADRID, "2026-03-02T12:00:59", "2026-03-02T12:00", "2026-03-02T12:01"),
        ("hour", MADRID, "2026-03-02T12:59", "2026-03-02T12:00", "2026-03-02T13:00"),
        ("hour", KOLKATA, "2026-03-02T12:00", "2026-03-02T11:30", "2026-03-02T12:30"),
        ("day", MADRID, "2026-03-02T22:59", "2026-03-01T23:00", "2026-03-02T23:00"),
        ("day", MADRID, "2026-03-02T23:00", "2026-03-02T23:00", "2026-03-03T23:00"),
        # 23 hours in spring, 25 in autumn.
        ("day", NEW_YORK, "2026-03-08T12:00", "2026-03-08T05:00", "2026-03-09T04:00"),
        ("day", NEW_YORK, "2026-11-01T12:00", "2026-11-01T04:00", "2026-11-02T05:00"),
        ("week", MADRID, "2026-03-08T22:59", "2026-03-01T23:00", "2026-03-08T23:00"),
        ("month", MADRID, "2026-03-31T12:00", "2026-02-28T23:00", "2026-03-31T22:00"),
    ],
)
def test_a_period_follows_the_calendar_of_the_zone(
    per: Period, zone: ZoneInfo, at: str, starts: str, ends: str
) -> None:
    assert bounds(per, utc(at), zone) == (utc(starts), utc(ends))


@settings(deadline=None)
@given(
    INSTANTS,
    st.sampled_from(PERIODS),
    st.sampled_from(
        [NEW_YORK, MADRID, KOLKATA, ZoneInfo("America/Santiago"), ZoneInfo("Australia/Lord_Howe")]
    ),
)
def test_periods_follow_each_other_without_gap_or_overlap(at: datetime, per: Period, zone: ZoneInfo) -> None:
    starts, ends = bounds(per, at, zone)
    assert starts <= at < ends
    assert bounds(per, ends, zone)[0] == ends
    assert bounds(per, starts - timedelta(seconds=1), zone)[1] == starts


@pytest.mark.parametrize(
    ("local", "first", "last"),
    [
        ("2026-03-08T01:59", "2026-03-08T06:59", "2026-03-08T06:59"),
        # The clock jumps from 02:00 to 03:00.
        ("2026-03-08T02:30", "2026-03-08T07:00", "2026-03-08T07:00"),
        # It shows 01:30 twice.
        ("2026-11-01T01:30", "2026-11-01T05:30", "2026-11-01T06:30"),
    ],
)
def test_when_a_clock_first_and_last_shows_a_time(local: str, first: str, last: str) -> None:
    shown = datetime.fromisoformat(local)
    assert opening(shown, NEW_YORK) == utc(first)
    assert opening(shown, NEW_YORK, last=True) == utc(last)


@pytest.mark.parametrize(
    ("start", "end", "at", "ends"),
    [
        ("09:00", "17:00", "2026-03-02T08:00", "2026-03-02T16:00"),
        ("09:00", "17:00", "2026-03-02T07:59", None),
        ("09:00", "17:00", "2026-03-02T16:00", None),
        # Overnight: before and after midnight.
        ("22:00", "07:00", "2026-03-02T21:00", "2026-03-03T06:00"),
        ("22:00", "07:00", "2026-03-03T05:59", "2026-03-03T06:00"),
        ("22:00", "07:00", "2026-03-03T06:00", None),
        # The night of the change in spring and in autumn (Madrid changes at 01:00 UTC).
        ("22:00", "07:00", "2026-03-28T23:00", "2026-03-29T05:00"),
        ("22:00", "07:00", "2026-10-24T23:00", "2026-10-25T06:00"),
        # An end that the clock jumps over is the moment of the change; one that it shows twice is the later.
        ("22:00", "02:30", "2026-03-28T23:00", "2026-03-29T01:00"),
        ("22:00", "02:30", "2026-10-25T00:45", "2026-10-25T01:30"),
    ],
)
def test_quiet_hours(start: str, end: str, at: str, ends: str | None) -> None:
    quiet = Quiet(MADRID, time.fromisoformat(start), time.fromisoformat(end), "batch")
    assert quiet.ends(utc(at)) == (None if ends is None else utc(ends))


@settings(deadline=None)
@given(
    INSTANTS,
    st.times(),
    st.times(),
    st.sampled_from([NEW_YORK, MADRID, ZoneInfo("Australia/Lord_Howe")]),
)
def test_the_end_of_quiet_hours_is_not_quiet(at: datetime, start: time, end: time, zone: ZoneInfo) -> None:
    quiet = Quiet(zone, start.replace(second=0, microsecond=0), end.replace(second=0, microsecond=0), "batch")
    if quiet.start == quiet.end:
        return
    ends = quiet.ends(at)
    if ends is None:
        local = at.astimezone(zone).time()
        inside = start <= local < end if start < end else local >= start or local < end
        assert not inside or local.replace(second=0, microsecond=0) in (quiet.start, quiet.end)
    else:
        assert at < ends <= at + timedelta(hours=25)
        again = quiet.ends(ends)
        assert again is None or again > ends
