"""Properties of the expansion, and its differences from the libraries with the argument for each."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile

import pytest
from dateutil.rrule import rrulestr
from hypothesis import assume, given
from hypothesis import strategies as st
from icalendar import Calendar
from recurring_ical_events import of as recurring_events

from sereno.subscriptions.recurrence.local_time import Policy
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule_text import parse_rule
from sereno.subscriptions.recurrence.series import occurrences
from tests.unit.subscriptions.recurrence.asking import calendar, first, of_text, series, utc

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
ZONES = ("America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata", "UTC")


def numbers(least: int, most: int, *, signed: bool = False) -> st.SearchStrategy[str]:
    one = st.integers(least, most)
    either = st.one_of(one, one.map(lambda n: -n)) if signed else one
    return st.lists(either, min_size=1, max_size=3, unique=True).map(lambda found: ",".join(map(str, found)))


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Rules that dateutil reads as RFC 5545 does: see the argued differences below for the others.

    Weekdays with and without a number in one rule are left out too: dateutil asks a day to be both.
    """
    frequency = draw(st.sampled_from(("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")))
    parts = {"FREQ": frequency}
    optional = {
        "INTERVAL": st.integers(1, 7).map(str),
        "BYMONTH": numbers(1, 12),
        "WKST": st.sampled_from(WEEKDAYS),
    }
    if frequency != "WEEKLY":
        optional["BYMONTHDAY"] = numbers(1, 31, signed=True)
    if frequency in ("YEARLY", "HOURLY"):
        optional["BYYEARDAY"] = numbers(1, 366, signed=True)
    names = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=3, unique=True)
    if frequency in ("YEARLY", "MONTHLY"):
        optional["BYDAY"] = names.map(lambda days: ",".join(f"{n - 2 or 1}{d}" for n, d in enumerate(days)))
    else:
        optional["BYDAY"] = names.map(",".join)
    if frequency in ("YEARLY", "MONTHLY", "WEEKLY", "DAILY"):
        optional["BYHOUR"] = numbers(0, 23)
        optional["BYMINUTE"] = numbers(0, 59)
    if frequency in ("YEARLY", "MONTHLY"):
        optional["BYSETPOS"] = numbers(1, 3, signed=True)
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True))
    parts |= {name: draw(optional[name]) for name in chosen}
    return ";".join(f"{name}={value}" for name, value in parts.items())


starts = st.datetimes(datetime(1990, 1, 1), datetime(2035, 1, 1)).map(lambda at: at.replace(microsecond=0))  # noqa: DTZ001
policies = st.builds(Policy, st.sampled_from(("shift", "skip")), st.sampled_from(("first", "second", "both")))


def read(text: str) -> None:
    try:
        parse_rule(text)
    except Refused:
        assume(False)


def found(rule: str, start: datetime, zone: str | None, policy: Policy, *, count: int = 12) -> list[datetime]:
    try:
        return [o.instant for o in islice(occurrences(series(rule, start.isoformat(), zone, policy)), count)]
    except Refused as refused:
        if refused.code != "unsupported_rule":
            raise
        return []


@pytest.mark.req(49, 160)
@given(rules(), starts)
def test_the_expansion_agrees_with_dateutil(rule: str, start: datetime) -> None:
    read(rule)
    ours = [instant.replace(tzinfo=None) for instant in found(rule, start, None, Policy())]
    # dateutil searches for ever where there is nothing to find, so it is asked up to our last.
    assume(ours)
    theirs = takewhile(lambda each: each <= ours[-1], rrulestr(rule, dtstart=start))
    assert ours == list(islice(theirs, len(ours)))


@pytest.mark.req(49, 160)
@given(rules(), starts, st.sampled_from(ZONES), policies, st.integers(0, 11))
def test_from_any_moment_on_it_is_the_tail_of_the_whole(
    rule: str, start: datetime, zone: str, policy: Policy, number: int
) -> None:
    read(rule)
    whole = found(rule, start, zone, policy)
    assert all(earlier < later for earlier, later in pairwise(whole))
    assume(number < len(whole))
    of = series(rule, start.isoformat(), zone, policy)
    for since in (whole[number], whole[number] - timedelta(microseconds=1)):
        tail = [each.instant for each in islice(occurrences(of, since), len(whole) - number)]
        assert tail == whole[number:]
    after = whole[number] + timedelta(microseconds=1)
    assert [each.instant for each in islice(occurrences(of, after), len(whole) - number - 1)] == whole[
        number + 1 :
    ]


@given(rules(), starts, st.sampled_from(ZONES), policies, st.integers(1, 10), st.integers(0, 9))
def test_a_counted_rule_is_the_beginning_of_the_endless_one(  # noqa: PLR0917 - as Hypothesis gives them
    rule: str, start: datetime, zone: str, policy: Policy, count: int, number: int
) -> None:
    read(rule)
    whole = found(rule, start, zone, policy, count=30)
    counted = found(f"{rule};COUNT={count}", start, zone, policy, count=40)
    assert counted == whole[: len(counted)]
    if number < len(counted):
        of = series(f"{rule};COUNT={count}", start.isoformat(), zone, policy)
        assert [each.instant for each in occurrences(of, counted[number])] == counted[number:]


@given(rules(), starts, st.sampled_from(ZONES[:4]), st.integers(0, 11))
def test_until_its_own_instant_a_rule_ends_there(rule: str, start: datetime, zone: str, number: int) -> None:
    read(rule)
    whole = found(rule, start, zone, Policy())
    assume(number < len(whole))
    last = whole[number]
    assert found(f"{rule};UNTIL={last:%Y%m%dT%H%M%SZ}", start, zone, Policy()) == whole[: number + 1]


@pytest.mark.req(160)
@given(st.data(), st.sampled_from(("DAILY", "WEEKLY", "MONTHLY")), st.integers(2, 6))
def test_changed_series_agree_with_recurring_ical_events(
    data: st.DataObject, frequency: str, count: int
) -> None:
    start = datetime(2026, 6, 1, 9, tzinfo=UTC)
    rule = f"FREQ={frequency};COUNT={count}"
    whole = [each.instant for each in occurrences(series(rule, "2026-06-01T09:00:00Z"))]
    text = "{:%Y%m%dT%H%M%SZ}".format
    left_out = data.draw(st.lists(st.sampled_from(whole), max_size=2, unique=True))
    added = data.draw(st.lists(st.integers(1, 200), max_size=2, unique=True))
    moved = data.draw(st.lists(st.sampled_from(whole), max_size=2, unique=True))
    master = [f"DTSTART:{text(start)}", f"RRULE:{rule}"]
    master += [f"EXDATE:{text(each)}" for each in left_out]
    master += [f"RDATE:{text(start + timedelta(hours=7 * each))}" for each in added]
    changed = [
        (f"RECURRENCE-ID:{text(each)}", f"DTSTART:{text(each + timedelta(minutes=37 + n))}")
        for n, each in enumerate(moved)
    ]
    written = calendar(master, *changed)
    theirs = recurring_events(Calendar.from_ical(written)).between(utc("2026-01-01"), utc("2028-01-01"))
    assert [each.instant for each in occurrences(of_text(written))] == sorted({each.start for each in theirs})


# What the libraries answer otherwise, and why we do not follow.
DIFFERENCES = [
    pytest.param(
        "FREQ=WEEKLY;BYDAY=SA,SU,TH;BYSETPOS=1",
        "2029-10-26T12:00",
        ["2029-11-01", "2029-11-08"],
        ["2029-10-27", "2029-11-01"],
        id="BYSETPOS chooses from the whole first week, also from what lies before the start",
    ),
    pytest.param(
        "FREQ=YEARLY;BYWEEKNO=1",
        "2013-01-01T09:00",
        ["2013-01-01", "2013-12-31"],
        ["2013-01-01", "2013-01-02"],
        id="BYWEEKNO without BYDAY names the weekday of the start, not all seven",
    ),
    pytest.param(
        "FREQ=YEARLY;BYWEEKNO=1;BYDAY=TU;INTERVAL=3",
        "2024-12-31T09:00",
        ["2024-12-31", "2028-01-04"],
        ["2024-12-31", "2027-01-05"],
        id="INTERVAL counts the years to which the weeks belong",
    ),
]


@pytest.mark.parametrize(("rule", "start", "ours", "dateutil"), DIFFERENCES)
def test_argued_differences(rule: str, start: str, ours: list[str], dateutil: list[str]) -> None:
    theirs = islice(rrulestr(rule, dtstart=datetime.fromisoformat(start)), len(dateutil))
    assert [f"{each:%Y-%m-%d}" for each in theirs] == dateutil
    assert [each[:10] for each in first(series(rule, start), len(ours))] == ours


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
        "FREQ=MONTHLY;INTERVAL=12;BYMONTH=2",
        "FREQ=MONTHLY;BYDAY=6MO",
        "FREQ=DAILY;INTERVAL=7;BYDAY=TU",
        "FREQ=DAILY;BYHOUR=1,2;BYSETPOS=3",
        "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
        "FREQ=HOURLY;BYMINUTE=1;BYSETPOS=2",
        "FREQ=HOURLY;INTERVAL=4;BYHOUR=12;BYSECOND=14,35",
        "FREQ=HOURLY;INTERVAL=168;BYDAY=TU",
        "FREQ=HOURLY;INTERVAL=7;BYDAY=TU;BYHOUR=10",
        "FREQ=MINUTELY;INTERVAL=30;BYMINUTE=7",
        "FREQ=SECONDLY;INTERVAL=86400;BYHOUR=5",
        "FREQ=DAILY;UNTIL=20250101",
    ],
)
def test_a_rule_that_never_fires_is_found_out(rule: str) -> None:
    assert first(series(rule, "2026-01-05T09:00:00", "America/New_York"), 1) == []


def test_the_search_is_bounded_where_it_cannot_be_decided() -> None:
    rule = "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=7;BYSECOND=11"
    with pytest.raises(Refused, match="it may never fire"):
        first(series(rule, "2026-01-05T09:00:00", "America/New_York"), 1)


@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=HOURLY", "FREQ=YEARLY", "FREQ=SECONDLY", "FREQ=WEEKLY"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", None])
def test_the_end_of_time_ends_a_rule(rule: str, zone: str | None) -> None:
    of = series(rule, "2026-01-05T09:00:00", zone)
    assert len(list(islice(occurrences(of, utc("9999-12-29T23:59:00")), 100_000))) < 100_000


def test_the_beginning_of_time_begins_one() -> None:
    assert first(series("FREQ=DAILY", "0001-01-01T00:00:00", "Asia/Tokyo"), 1) == ["1-01-01T14:41"]
    of = series("FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1", "0001-01-01")
    assert [each.instant.year for each in islice(occurrences(of), 2)] == [1, 2]


def test_far_ahead_is_reached_without_counting_there() -> None:
    for rule in ("FREQ=SECONDLY", "FREQ=SECONDLY;COUNT=1000000000", "FREQ=MINUTELY;BYHOUR=9", "FREQ=DAILY"):
        of = series(rule, "2000-01-01T09:00:00", "Europe/Madrid")
        since = utc("2030-01-01T08:30:00")
        assert next(occurrences(of, since)).instant - since <= timedelta(days=1)
