"""What a rule may say: each refusal names the part and what was expected."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule import Frequency, Rule, Weekday
from sereno.subscriptions.recurrence.rule_text import parse_rule


@pytest.mark.req(52)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected PART=VALUE"),
        ("FREQ", "expected PART=VALUE"),
        ("INTERVAL=2", "FREQ is missing"),
        ("FREQ=FORTNIGHTLY", "FREQ=FORTNIGHTLY: expected one of YEARLY"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0: expected a whole number from 1"),
        ("FREQ=DAILY;INTERVAL=1.5", "INTERVAL=1.5: expected a whole number"),
        ("FREQ=DAILY;INTERVAL=99999999999999", "INTERVAL=99999999999999: expected"),
        ("FREQ=DAILY;COUNT=0", "COUNT=0: expected a whole number from 1"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101T000000Z", "COUNT and UNTIL are both given"),
        ("FREQ=DAILY;UNTIL=soon", "UNTIL: expected a time"),
        ("FREQ=DAILY;UNTIL=20270230", "UNTIL: '20270230' is no date"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR=24: expected numbers from 0 to 23"),
        ("FREQ=DAILY;BYHOUR=-1", "BYHOUR=-1: expected numbers from 0 to 23"),
        ("FREQ=DAILY;BYMINUTE=60", "BYMINUTE=60: expected numbers from 0 to 59"),
        ("FREQ=DAILY;BYSECOND=61", "BYSECOND=61: expected numbers from 0 to 60"),
        ("FREQ=YEARLY;BYMONTH=13", "BYMONTH=13: expected numbers from 1 to 12"),
        ("FREQ=YEARLY;BYMONTH=5L", "no leap months"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY=32: expected numbers from 1 to 31 or from -31 to -1"),
        ("FREQ=YEARLY;BYYEARDAY=367", "BYYEARDAY=367: expected numbers from 1 to 366"),
        ("FREQ=YEARLY;BYWEEKNO=54", "BYWEEKNO=54: expected numbers from 1 to 53"),
        ("FREQ=MONTHLY;BYDAY=0MO", "BYDAY=0MO: expected weekdays MO to SU"),
        ("FREQ=MONTHLY;BYDAY=MO,,TU", "BYDAY=: expected weekdays"),
        ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY with a number and FREQ=WEEKLY"),
        ("FREQ=YEARLY;BYWEEKNO=3;BYDAY=1MO", "BYDAY with a number beside BYWEEKNO"),
        ("FREQ=WEEKLY;BYMONTHDAY=3", "BYMONTHDAY with FREQ=WEEKLY"),
        ("FREQ=MONTHLY;BYYEARDAY=3", "BYYEARDAY with FREQ=MONTHLY"),
        ("FREQ=HOURLY;BYWEEKNO=3", "BYWEEKNO with FREQ=HOURLY"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS alone"),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=367", "BYSETPOS=367: expected numbers from 1 to 366"),
        ("FREQ=DAILY;WKST=XX", "WKST=XX: expected one of MO"),
        ("FREQ=DAILY;WKST=MO;WKST=SU", "WKST is given twice"),
        ("FREQ=YEARLY;BYEASTER=0", "'BYEASTER' is no part of a rule"),
        ("FREQ=MONTHLY;SKIP=FORWARD", "SKIP is given without RSCALE"),
        ("RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=SIDEWAYS", "SKIP=SIDEWAYS: expected one of OMIT"),
        ("FREQ=DAILY;INTERVAL=٣", "INTERVAL=٣: expected a whole number"),
    ],
)
def test_a_rule_is_refused_with_the_part_and_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_rule(text)
    assert said in str(refused.value)
    assert refused.value.code == "bad_rule"


@pytest.mark.parametrize(
    "text",
    [
        "RSCALE=HEBREW;FREQ=YEARLY",
        "RSCALE=GREGORIAN;FREQ=YEARLY;BYYEARDAY=366;BYMONTH=12;SKIP=FORWARD",
        "RSCALE=GREGORIAN;FREQ=YEARLY;BYWEEKNO=53;SKIP=BACKWARD",
    ],
)
def test_what_has_no_exact_meaning_is_unsupported(text: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_rule(text)
    assert refused.value.code == "unsupported_rule"


def test_a_rule_of_absurd_length_is_refused_before_it_is_read() -> None:
    with pytest.raises(Refused, match="expected at most 4096"):
        parse_rule("FREQ=DAILY;BYHOUR=" + ",".join(["1"] * 5000))


def test_case_order_doubles_and_a_trailing_semicolon_do_not_matter() -> None:
    said = "rrule:byday=-1fr,MO,mo;BYMONTH=5,4,5;wkst=su;freq=monthly;"
    expected = Rule(Frequency.MONTHLY, by_day=(Weekday(4, -1), Weekday(0)), by_month=(4, 5), week_start=6)
    assert parse_rule(said) == expected


def test_the_leap_second_is_read_as_the_last_second() -> None:
    assert parse_rule("FREQ=MINUTELY;BYSECOND=59,60").by_second == (59,)


@given(st.text(max_size=200))
def test_any_text_is_a_rule_or_a_refusal(text: str) -> None:
    with contextlib.suppress(Refused):
        parse_rule(text)
