"""Reads a recurrence rule and refuses whatever RFC 5545 does not allow, naming the part and what was expected."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from sereno.subscriptions.recurrence.moment import Moment, parse_moment
from sereno.subscriptions.recurrence.refusal import Refused, refuse_rule, shortened
from sereno.subscriptions.recurrence.rule import WEEKDAYS, Frequency, Rule, Weekday
from sereno.subscriptions.recurrence.rule_limits import check

MAX_LENGTH = 4096
MAX_INTERVAL = 1_000_000_000
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_SIGNED = re.compile(r"[+-]?[0-9]{1,4}", re.ASCII)
_WEEKDAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
LEAP_SECOND = 60


def parse_rule(text: str) -> Rule:
    """The rule that `text` (with or without `RRULE:`) says; Refused when it is not one or contradicts itself."""
    return _parse(text)


@lru_cache(maxsize=512)
def _parse(text: str) -> Rule:
    parts = _parts(text)
    if "FREQ" not in parts:
        raise Refused("bad_rule", "FREQ is missing: expected one of " + ", ".join(_names()))
    _check_scale(parts)
    fields = {field: read(name, parts[name]) for name, (field, read) in _PARTS.items() if name in parts}
    rule = Rule(**fields)
    check(rule)
    return rule


def _parts(text: str) -> dict[str, str]:
    if len(text) > MAX_LENGTH:
        raise Refused("too_large", f"the rule has {len(text)} characters: expected at most {MAX_LENGTH}")
    body = text.strip().upper()
    for prefix in ("RRULE:", "EXRULE:"):
        body = body.removeprefix(prefix)
    # Google Calendar has written a trailing semicolon.
    items = body.removesuffix(";").split(";")
    parts: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise Refused("bad_rule", f"{shortened(item)!r}: expected PART=VALUE, such as FREQ=DAILY")
        if name not in _PARTS and name != "RSCALE":
            raise Refused(
                "bad_rule", f"{shortened(name)!r} is no part of a rule: expected one of " + _known()
            )
        if name in parts:
            raise Refused("bad_rule", f"{name} is given twice: expected it once")
        if not value:
            raise Refused("bad_rule", f"{name} is empty: expected a value")
        parts[name] = value
    return parts


def _known() -> str:
    return ", ".join((*_PARTS, "RSCALE"))


def _names() -> list[str]:
    return [frequency.name for frequency in Frequency]


def _check_scale(parts: Mapping[str, str]) -> None:
    scale = parts.get("RSCALE")
    if scale is None and "SKIP" in parts:
        raise Refused(
            "bad_rule", "SKIP is given without RSCALE: expected RSCALE=GREGORIAN beside it (RFC 7529)"
        )
    if scale not in (None, "GREGORIAN"):
        raise Refused(
            "unsupported_rule", f"RSCALE={shortened(scale or '')}: only GREGORIAN is expanded exactly"
        )


def _frequency(name: str, value: str) -> Frequency:
    if value not in Frequency.__members__:
        raise refuse_rule(name, value, "one of " + ", ".join(_names()))
    return Frequency[value]


def _positive(name: str, value: str, most: int = MAX_INTERVAL) -> int:
    if _NUMBER.fullmatch(value) is None or not 1 <= int(value) <= most:
        raise refuse_rule(name, value, f"a whole number from 1 to {most}")
    return int(value)


def _until(name: str, value: str) -> Moment:
    try:
        return parse_moment(value, name)
    except Refused as refused:
        raise Refused("bad_rule", str(refused)) from None


def _numbers(least: int, most: int, *, signed: bool, name: str, value: str) -> tuple[int, ...]:
    expected = f"numbers from {least} to {most}" + (f" or from -{most} to -{least}" if signed else "")
    pattern = _SIGNED if signed else _NUMBER
    found = set()
    for item in value.split(","):
        if pattern.fullmatch(item) is None:
            raise refuse_rule(name, value, f"{expected}, separated by commas")
        number = int(item)
        if not least <= (abs(number) if signed else number) <= most:
            raise refuse_rule(name, item, expected)
        found.add(number)
    return tuple(sorted(found))


def _seconds(name: str, value: str) -> tuple[int, ...]:
    # A clock without leap seconds reads 60 as 59 (RFC 5545 3.3.12).
    found = _numbers(0, LEAP_SECOND, signed=False, name=name, value=value)
    return tuple(sorted({min(second, LEAP_SECOND - 1) for second in found}))


def _list(least: int, most: int, *, signed: bool) -> Callable[[str, str], tuple[int, ...]]:
    def read(name: str, value: str) -> tuple[int, ...]:
        return _numbers(least, most, signed=signed, name=name, value=value)

    return read


def _months(name: str, value: str) -> tuple[int, ...]:
    if re.fullmatch(r"[0-9L,]+", value) and "L" in value:
        raise refuse_rule(name, value, "no leap months: the Gregorian calendar has none")
    return _numbers(1, 12, signed=False, name=name, value=value)


def _weekdays(name: str, value: str) -> tuple[Weekday, ...]:
    found = set()
    for item in value.split(","):
        matched = _WEEKDAY.fullmatch(item)
        ordinal = int(matched[1] or 0) if matched else 0
        if matched is None or abs(ordinal) > 53 or (matched[1] and not ordinal):  # noqa: PLR2004 - weeks of a year
            raise refuse_rule(
                name, item, "weekdays MO to SU, each with an optional number from 1 to 53 or -53 to -1"
            )
        found.add(Weekday(WEEKDAYS.index(matched[2]), ordinal))
    return tuple(sorted(found, key=lambda day: (day.ordinal, day.weekday)))


def _week_start(name: str, value: str) -> int:
    if value not in WEEKDAYS:
        raise refuse_rule(name, value, "one of " + ", ".join(WEEKDAYS))
    return WEEKDAYS.index(value)


def _skip(name: str, value: str) -> str:
    if value not in ("OMIT", "BACKWARD", "FORWARD"):
        raise refuse_rule(name, value, "one of OMIT, BACKWARD, FORWARD")
    return value


_PARTS: Mapping[str, tuple[str, Callable[[str, str], Any]]] = {
    "FREQ": ("frequency", _frequency),
    "INTERVAL": ("interval", _positive),
    "COUNT": ("count", partial(_positive, most=MAX_INTERVAL)),
    "UNTIL": ("until", _until),
    "BYSECOND": ("by_second", _seconds),
    "BYMINUTE": ("by_minute", _list(0, 59, signed=False)),
    "BYHOUR": ("by_hour", _list(0, 23, signed=False)),
    "BYDAY": ("by_day", _weekdays),
    "BYMONTHDAY": ("by_month_day", _list(1, 31, signed=True)),
    "BYYEARDAY": ("by_year_day", _list(1, 366, signed=True)),
    "BYWEEKNO": ("by_week_number", _list(1, 53, signed=True)),
    "BYMONTH": ("by_month", _months),
    "BYSETPOS": ("by_position", _list(1, 366, signed=True)),
    "WKST": ("week_start", _week_start),
    "SKIP": ("skip", _skip),
}
