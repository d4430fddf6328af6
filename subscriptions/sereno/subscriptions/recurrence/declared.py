"""A series as fields say it: `dtstart`, a zone, rules, and times added or left out."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from sereno.subscriptions.recurrence.calendar_series import read_series
from sereno.subscriptions.recurrence.calendar_text import Calendar, Component, Property
from sereno.subscriptions.recurrence.calendar_values import listed, written, zones_of
from sereno.subscriptions.recurrence.local_time import DEFAULT, Policy
from sereno.subscriptions.recurrence.moment import parse_moment
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.series import Series, Written

_PARAMETERS = re.compile(r"(?P<parameters>[A-Za-z-]+=[^:]*):(?P<values>.*)", re.DOTALL)


def declared_series(
    dtstart: str,
    zone: tzinfo | None,
    *,
    rules: Sequence[str] = (),
    rdates: Sequence[str] = (),
    exdates: Sequence[str] = (),
    policy: Policy = DEFAULT,
) -> Series:
    """The series of these fields; without a zone, a time is in UTC when it says so, else floating.

    `rdates` and `exdates` are times, lists with commas, or iCalendar values with parameters (`TZID=Europe/Rome:…`).
    Refused names the field.
    """
    start = Property("DTSTART", {}, _start(dtstart, zone))
    properties = {
        "DTSTART": [start],
        "RRULE": [Property("RRULE", {}, rule) for rule in rules],
        "RDATE": [_value("RDATE", text) for text in rdates],
        "EXDATE": [_value("EXDATE", text) for text in exdates],
    }
    entry = Component("VEVENT", properties)
    return read_series(None, [entry], Calendar((entry,), {}), zone, policy).series


def declared_times(name: str, texts: Sequence[str]) -> Iterator[Written]:
    """The times of `rdates` or `exdates`, as they were written; Refused names what was expected."""
    zones = zones_of({})
    for text in texts:
        value = _value(name, text)
        yield from (written(value, zones, each.partition("/")[0]) for each in listed(value))


def _start(text: str, zone: tzinfo | None) -> str:
    """The start without an offset, or with Z; an offset must be the one that the zone has then."""
    moment = parse_moment(text, "dtstart")
    if not isinstance(moment, datetime):
        return moment.isoformat()
    if moment.microsecond:
        raise Refused("bad_input", "dtstart: expected whole seconds")
    if moment.tzinfo is None:
        return moment.replace(tzinfo=None).isoformat()
    if zone in (None, UTC) and moment.utcoffset() == timedelta():
        return moment.replace(tzinfo=None).isoformat() + "Z"
    if zone is None:
        raise Refused(
            "bad_input", "dtstart: an offset does not say which zone's clock to follow: expected tzid too"
        )
    if moment.tzinfo is UTC or moment.replace(tzinfo=zone).utcoffset() != moment.utcoffset():
        raise Refused("bad_input", "dtstart: expected a local time, without Z or an offset, beside the zone")
    return moment.replace(tzinfo=None).isoformat()


def _value(name: str, text: str) -> Property:
    matched = _PARAMETERS.fullmatch(text.strip())
    if matched is None:
        return Property(name, {}, text)
    parameters = {}
    for item in matched["parameters"].split(";"):
        key, _, value = item.partition("=")
        parameters[key.upper()] = value.strip('"')
    return Property(name, parameters, matched["values"])
