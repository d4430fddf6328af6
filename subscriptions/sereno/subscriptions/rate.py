"""Amounts per period as people write them: `100/day`, `60/min`, `5.00 EUR/day`."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, cast

from sereno.subscriptions.currencies import CODES

Period = Literal["min", "hour", "day", "week", "month"]

_PERIODS = {"min": "min", "minute": "min", "hour": "hour", "day": "day", "week": "week", "month": "month"}
_RATE = re.compile(r"([0-9]{1,12}) ?/ ?([a-z]+)", re.ASCII)
_MONEY = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ([A-Z]{3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many times in each period; at least once."""

    count: int
    per: Period

    def __str__(self) -> str:
        return f"{self.count}/{self.per}"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in one currency (ISO 4217 code)."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"


@dataclass(frozen=True, slots=True)
class MoneyRate:
    """An amount of money in each period."""

    money: Money
    per: Period

    def __str__(self) -> str:
        return f"{self.money}/{self.per}"


def parse_rate(text: str) -> Rate:
    """The rate that `text` names, such as 100/day; ValueError says what was expected."""
    matched = _RATE.fullmatch(text)
    if matched is None or matched[2] not in _PERIODS or int(matched[1]) < 1:
        raise ValueError("expected a rate such as 60/min or 100/day (per min, hour, day, week or month)")
    return Rate(int(matched[1]), cast("Period", _PERIODS[matched[2]]))


def parse_money(text: str) -> Money:
    """The amount that `text` names, such as 0.30 EUR; ValueError says what was expected."""
    matched = _MONEY.fullmatch(text)
    if matched is None:
        raise ValueError("expected an amount such as 0.30 EUR")
    if matched[2] not in CODES:
        raise ValueError(f"unknown currency {matched[2]}: expected an ISO 4217 code such as EUR")
    return Money(Decimal(matched[1]), matched[2])


def parse_money_rate(text: str) -> MoneyRate:
    """The amount per period that `text` names, such as 5.00 EUR/day; ValueError says what was expected."""
    amount, _, period = text.partition("/")
    if period not in _PERIODS:
        raise ValueError("expected an amount per period such as 5.00 EUR/day")
    money = parse_money(amount)
    if not money.amount:
        raise ValueError("expected an amount above zero: with none, nothing would ever wake")
    return MoneyRate(money, cast("Period", _PERIODS[period]))
