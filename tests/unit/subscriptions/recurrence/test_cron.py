"""Cron lines: read as cronsim reads them, from any moment on."""

from datetime import timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.recurrence.cron import cron_instants
from sereno.subscriptions.recurrence.recurring import of_cron
from sereno.subscriptions.recurrence.refusal import Refused
from tests.unit.subscriptions.recurrence.asking import utc

NEW_YORK = ZoneInfo("America/New_York")
LINES = (
    "30 2 * * *",
    "50 1 * * *",
    "0,30 1-3 * * *",
    "*/20 * * * *",
    "0 */2 * * 0",
    "15 1 1,8 11 1",
    "0 0 * * *",
)
MICROSECOND = timedelta(microseconds=1)


@pytest.mark.req(51)
def test_a_fixed_time_that_the_clock_shows_twice_is_not_due_again_in_its_second_hour() -> None:
    second = utc("2026-11-01T06:45:00")
    assert next(cron_instants("50 1 * * *", NEW_YORK, second)) == utc("2026-11-02T06:50:00")


@pytest.mark.req(51)
@given(
    st.sampled_from(LINES),
    st.sampled_from(("America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "UTC")),
    st.sampled_from(
        ("2026-03-07T12:00:00", "2026-10-31T12:00:00", "2026-04-03T12:00:00", "2026-04-23T12:00:00")
    ),
    st.integers(0, 19),
)
def test_from_any_moment_on_it_is_the_tail_of_the_whole(
    line: str, zone: str, begin: str, number: int
) -> None:
    whole = list(islice(cron_instants(line, ZoneInfo(zone), utc(begin)), 21))
    assert all(earlier < later for earlier, later in pairwise(whole))
    found = cron_instants(line, ZoneInfo(zone), whole[number])
    assert list(islice(found, 21 - number)) == whole[number:]
    found = cron_instants(line, ZoneInfo(zone), whole[number] + MICROSECOND)
    assert list(islice(found, 20 - number)) == whole[number + 1 :]
    assert of_cron(line, ZoneInfo(zone)).last_before(whole[number + 1]) == whole[number]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "Wrong number of fields"),
        ("* * * *", "Wrong number of fields"),
        ("@daily", "Wrong number of fields"),
        ("60 * * * *", "Bad minute"),
        ("* 24 * * *", "Bad hour"),
        ("* * 0 * *", "Bad day-of-month"),
        ("* * * 13 *", "Bad month"),
        ("* * * * 8", "Bad day-of-week"),
        ("*/0 * * * *", "Bad minute"),
        ("5-1 * * * *", "Bad minute"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 0 * * MON#9", "Bad day-of-week"),
        ("0 0 * * 1#1/2", "Bad day-of-week"),
        ("9" * 200 + " * * * *", "Bad minute"),
        ("0," * 200 + "0 * * * *", "expected at most 300"),
    ],
)
def test_a_line_that_cannot_be_read(line: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        of_cron(line, NEW_YORK)
