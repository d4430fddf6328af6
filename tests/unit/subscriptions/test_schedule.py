"""When a time source fires."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.models import TimeSource
from sereno.subscriptions.schedule import EPOCH, LAST, first_after, instants, last_before, objection

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def source(**fields: object) -> TimeSource:
    return TimeSource.model_validate(fields)


def test_a_one_shot_fires_once() -> None:
    once = source(at="2026-12-01T13:00:00+01:00")
    assert first_after(once, NOON - SECOND) == NOON
    assert first_after(once, NOON) is None
    assert list(instants(once, NOON - SECOND, NOON + SECOND)) == [NOON]
    assert list(instants(once, NOON - SECOND, NOON)) == []
    assert last_before(once, NOON) is None
    assert last_before(once, NOON + SECOND) == NOON


def test_an_interval_counts_from_its_start() -> None:
    every = source(every="7m", start="2026-12-01T12:00:00Z")
    assert first_after(every, NOON - timedelta(days=400)) == NOON
    assert first_after(every, NOON) == NOON + timedelta(minutes=7)
    assert list(instants(every, NOON - SECOND, NOON + timedelta(minutes=21))) == [
        NOON,
        NOON + timedelta(minutes=7),
        NOON + timedelta(minutes=14),
    ]
    assert last_before(every, NOON) is None
    assert last_before(every, NOON + timedelta(minutes=7)) == NOON


def test_without_a_start_an_interval_falls_on_round_times() -> None:
    found = islice(instants(source(every="10m"), NOON, NOON + timedelta(days=1)), 2)
    assert list(found) == [NOON + timedelta(minutes=10), NOON + timedelta(minutes=20)]


def test_the_end_of_time_ends_an_interval() -> None:
    every = source(every="7d", start="9999-12-25T00:00:00Z")
    assert first_after(every, datetime(9999, 12, 30, tzinfo=UTC)) is None
    assert first_after(source(every="3000d"), datetime(9998, 1, 1, tzinfo=UTC)) is None


CALENDAR = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:standup
DTSTART;TZID=Europe/Madrid:20261201T090000
RRULE:FREQ=DAILY
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.req(49, 50, 180)
@pytest.mark.parametrize(
    "rule",
    [
        {"rrule": "FREQ=DAILY", "dtstart": "2026-12-01T09:00:00", "zone": "Europe/Madrid"},
        {"cron": "0 9 * * *", "zone": "Europe/Madrid"},
        {"ics": CALENDAR},
    ],
    ids=lambda rule: next(iter(rule)),
)
def test_rules_cron_lines_and_calendars_fire_by_the_clock_of_their_zone(rule: dict[str, str]) -> None:
    daily = source(**rule)
    at = datetime(2027, 3, 27, 8, tzinfo=UTC)
    assert first_after(daily, at - SECOND) == at
    assert first_after(daily, at) == at + timedelta(hours=23)
    assert last_before(daily, at) == at - timedelta(days=1)
    assert last_before(daily, at + SECOND) == at
    assert list(instants(daily, at, at + timedelta(days=2))) == [
        at + timedelta(hours=23),
        at + timedelta(hours=47),
    ]
    assert list(instants(daily, at, at + timedelta(hours=23))) == []


def test_before_its_first_and_after_its_last_time_a_rule_has_nothing() -> None:
    rule = source(
        rrule="FREQ=YEARLY;COUNT=2", dtstart="2024-02-29T09:00", zone="UTC", exdates=["2028-02-29T09:00"]
    )
    leap = datetime(2024, 2, 29, 9, tzinfo=UTC)
    assert first_after(rule, leap) is None
    assert last_before(rule, leap) is None
    assert last_before(rule, LAST) == leap


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"rrule": "FREQ=DAILY;INTERVAL=0", "dtstart": "2026-12-01T09:00", "zone": "UTC"},
            "INTERVAL=0: expected",
        ),
        ({"cron": "61 * * * *", "zone": "UTC"}, "Bad minute"),
        ({"ics": "BEGIN:VCALENDAR"}, "is not ended"),
        ({"ics": CALENDAR.replace(";TZID=Europe/Madrid", "")}, "zone: expected one"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(rule: dict[str, str], said: str) -> None:
    for ask in (first_after, last_before):
        with pytest.raises(ValueError, match=said):
            ask(source(**rule), NOON)
    refused = objection(source(**rule), NOON)
    assert refused is not None
    assert said in str(refused)


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ({"rrule": "FREQ=DAILY;UNTIL=20261130", "dtstart": "2026-11-01T09:00", "zone": "UTC"}, "never_fires"),
        ({"rrule": "FREQ=SECONDLY;INTERVAL=59", "dtstart": "2026-11-01T09:00", "zone": "UTC"}, "bad_rule"),
        ({"rrule": "FREQ=DAILY;BYSECOND=0,30", "dtstart": "2026-11-01T09:00", "zone": "UTC"}, "bad_rule"),
        ({"at": "2026-11-01T09:00:00Z"}, "never_fires"),
        ({"rrule": "FREQ=MINUTELY", "dtstart": "2026-11-01T09:00", "zone": "UTC"}, None),
        ({"every": "1m"}, None),
    ],
)
def test_what_a_subscription_may_not_have(rule: dict[str, str], code: str | None) -> None:
    refused = objection(source(**rule), NOON)
    assert (refused.code if refused else None) == code


@pytest.mark.req(49)
def test_a_cron_line_and_a_calendar_have_times_added_and_left_out() -> None:
    begin = datetime(2026, 12, 1, tzinfo=UTC)
    changes = {
        "exdates": ["2026-12-02", "2026-12-03T09:00:00", "TZID=America/New_York:20261204T030000"],
        "rdates": ["2026-12-03T21:00:00", "2026-12-05T09:00:00", "20261206T100000Z"],
    }
    expected = [
        "2026-12-01 08:00",
        "2026-12-03 20:00",
        "2026-12-05 08:00",
        "2026-12-06 08:00",
        "2026-12-06 10:00",
    ]
    for rule in ({"cron": "0 9 * * *", "zone": "Europe/Madrid"}, {"ics": CALENDAR, "zone": "Europe/Madrid"}):
        changed = source(**rule, **changes)
        found = [f"{instant:%Y-%m-%d %H:%M}" for instant in islice(instants(changed, begin, LAST), 5)]
        assert found == expected
        at = datetime(2026, 12, 3, 20, tzinfo=UTC)
        assert first_after(changed, at - SECOND) == at
        assert last_before(changed, at) == datetime(2026, 12, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "rule", [{"cron": "0 9 * * *", "zone": "UTC"}, {"ics": CALENDAR}], ids=lambda rule: next(iter(rule))
)
def test_a_day_cannot_be_added_to_times(rule: dict[str, str]) -> None:
    refused = objection(source(**rule, rdates=["2026-12-02"]), NOON)
    assert refused is not None
    assert "expected a time of day" in str(refused)


moments = st.timedeltas(timedelta(days=3650), timedelta(days=45_000)).map(lambda since: EPOCH + since)
lengths = st.timedeltas(timedelta(seconds=60), timedelta(days=90))


@given(lengths, moments, moments)
def test_first_and_last_are_neighbours_on_the_grid(
    every: timedelta, start: datetime, moment: datetime
) -> None:
    spec = TimeSource(every=every, start=start)
    after, before = first_after(spec, moment), last_before(spec, moment)
    assert after is not None
    assert after > moment
    assert (after - start) % every == timedelta()
    if before is not None:
        assert before < moment
        assert after - before in (every, 2 * every)
    assert all(b - a == every for a, b in pairwise(islice(instants(spec, moment, moment + 5 * every), 5)))
