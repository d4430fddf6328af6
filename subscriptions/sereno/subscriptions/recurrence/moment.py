"""Dates and times as ISO 8601 and iCalendar write them: a day, a floating time, or an instant."""

import re
from datetime import UTC, date, datetime, timedelta, timezone

from sereno.subscriptions.recurrence.refusal import Refused, shortened

Moment = date | datetime
"""A `date` is a whole day, a naive `datetime` a local time, an aware one an instant."""

_DAY = r"(?P<year>[0-9]{4})(?P<dash>-?)(?P<month>[0-9]{2})(?P=dash)(?P<day>[0-9]{2})"
_CLOCK = (
    r"(?P<hour>[0-9]{2})(?P<colon>:?)(?P<minute>[0-9]{2})"
    r"(?:(?P=colon)(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
)
_OFFSET = r"(?P<zulu>[Zz])|(?P<sign>[+-])(?P<ahead>[0-9]{2}):?(?P<beyond>[0-9]{2})?"
_MOMENT = re.compile(rf"{_DAY}(?:[Tt ]{_CLOCK}(?:{_OFFSET})?)?", re.ASCII)
_EXPECTED = "expected a time such as 2026-03-08T09:00:00, 20260308T090000Z or 2026-03-08"


def parse_moment(text: str, name: str) -> Moment:
    """What `text` says, in the extended or the basic form; the leap second 60 is read as 59 (RFC 5545 3.3.12).

    Refused("bad_input") names the field `name`.
    """
    matched = _MOMENT.fullmatch(text.strip())
    if matched is None:
        raise Refused("bad_input", f"{name}: {_EXPECTED}, not {shortened(text)!r}")
    try:
        return _moment(matched)
    except ValueError as fault:
        raise Refused("bad_input", f"{name}: {shortened(text)!r} is no date or time: {fault}") from None


def _moment(matched: re.Match[str]) -> Moment:
    day = date(int(matched["year"]), int(matched["month"]), int(matched["day"]))
    if matched["hour"] is None:
        return day
    second = int(matched["second"] or 0)
    fraction = int((matched["fraction"] or "").ljust(6, "0")[:6])
    local = datetime(
        day.year,
        day.month,
        day.day,
        int(matched["hour"]),
        int(matched["minute"]),
        59 if second == 60 else second,  # noqa: PLR2004 - the leap second
        fraction,
        _zone(matched),
    )
    if matched["sign"] is not None:
        _check_reach(local)
    return local


def _zone(matched: re.Match[str]) -> timezone | None:
    if matched["zulu"]:
        return UTC
    if matched["sign"] is None:
        return None
    ahead = timedelta(hours=int(matched["ahead"]), minutes=int(matched["beyond"] or 0))
    return timezone(-ahead if matched["sign"] == "-" else ahead)


def _check_reach(local: datetime) -> None:
    try:
        local.astimezone(UTC)
    except OverflowError:
        raise ValueError("it lies outside the years 1 to 9999 in UTC") from None


def is_day(moment: Moment) -> bool:
    """Whether `moment` is a whole day."""
    return not isinstance(moment, datetime)


def at_midnight(moment: Moment) -> datetime:
    """The time itself, or the start of the day."""
    return moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)


def day_of(moment: Moment) -> date:
    """The day on which the digits of `moment` lie."""
    return moment.date() if isinstance(moment, datetime) else moment


def digits(moment: Moment) -> datetime:
    """The digits of `moment` as a naive time, whatever zone they were written in."""
    return at_midnight(moment).replace(tzinfo=None)
