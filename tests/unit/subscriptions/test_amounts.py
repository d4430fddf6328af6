"""Durations, rates and money as people write them."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.duration import LONGEST, format_duration, parse_duration
from sereno.subscriptions.rate import Money, MoneyRate, Rate, parse_money, parse_money_rate, parse_rate


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("10m", timedelta(minutes=10)),
        ("60s", timedelta(seconds=60)),
        ("1h30m", timedelta(minutes=90)),
        ("24h", timedelta(days=1)),
        ("1w2d", timedelta(days=9)),
        ("250ms", timedelta(milliseconds=250)),
        ("-10m", timedelta(minutes=-10)),
        ("0s", timedelta()),
    ],
)
def test_durations(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text",
    ["", "-", "10", "10 m", "m", "30m1h", "1h1h", "1.5h", "PT10M", "10M", "٣m", "9999999w", "1h\n", "--1h"],
)
def test_what_is_no_duration_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(text)


@given(
    st.timedeltas(-LONGEST, LONGEST).map(
        lambda length: timedelta(milliseconds=length // timedelta(milliseconds=1))
    )
)
def test_a_formatted_duration_reads_back(length: timedelta) -> None:
    assert parse_duration(format_duration(length)) == length


def test_rates_and_money() -> None:
    assert parse_rate("100/day") == Rate(100, "day")
    assert parse_rate("60/minute") == parse_rate("60 / min") == Rate(60, "min")
    assert parse_money("0.30 EUR") == Money(Decimal("0.30"), "EUR")
    assert parse_money_rate("5.00 EUR/day") == MoneyRate(Money(Decimal("5.00"), "EUR"), "day")
    assert [str(parse_rate("5/hour")), str(parse_money_rate("5.00 EUR/week"))] == ["5/hour", "5.00 EUR/week"]


@pytest.mark.parametrize("text", ["0/day", "-1/day", "1/fortnight", "day", "1.5/day", "", "1/"])
def test_what_is_no_rate_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="expected a rate such as"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["5 EUR", "5.00 eur/day", "EUR 5/day", "5.00 EUR/", "-5 EUR/day"])
def test_what_is_no_amount_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="expected an amount"):
        parse_money_rate(text)
