"""`calendar preview`: when something is due around the entries of a calendar."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Any, get_args

from sereno.subscriptions.duration import parse_duration
from sereno.subscriptions.recurrence.anchored import Anchor, Fire, RefusedSeries, fires, read_all
from sereno.subscriptions.recurrence.calendar_text import parse_calendar
from sereno.subscriptions.recurrence.calendar_values import parse_length
from sereno.subscriptions.recurrence.local_time import anchor as instant_of
from sereno.subscriptions.recurrence.moment import at_midnight, parse_moment
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.request import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    known_fields,
    limit_of,
    policy_of,
    text_of,
)
from sereno.subscriptions.recurrence.series import BEGINNING, END
from sereno.subscriptions.recurrence.zones import zone_named

_FIELDS = frozenset({"ics", "offset", "anchor", "after", "before", "tzid", "gap", "overlap", "limit"})


@dataclass(frozen=True, slots=True)
class CalendarAnswer:
    """The fires in order, and the series that cannot be read exactly."""

    fires: tuple[Fire, ...]
    refused: tuple[RefusedSeries, ...]


def preview_calendar(fields: Mapping[str, Any]) -> CalendarAnswer:
    """What the fields of one request ask for; Refused when none of the calendar's series can be read.

    Without `before`, at most 100 fires unless `limit` says otherwise; with it, at most 10,000.
    """
    given = known_fields(fields, _FIELDS)
    ics = text_of(given, "ics")
    if ics is None:
        raise Refused("bad_input", "ics: expected iCalendar text")
    tzid = text_of(given, "tzid")
    zone = zone_named(tzid) if tzid is not None else None
    anchor, offset = _anchor(given), _offset(text_of(given, "offset"))
    since = _bound(text_of(given, "after"), "after", zone) or BEGINNING
    until = _bound(text_of(given, "before"), "before", zone)
    limit = limit_of(given, DEFAULT_LIMIT if until is None else MAX_LIMIT)
    read, refused = read_all(parse_calendar(ics), zone, policy_of(given))
    if refused and not read:
        raise refused[0].refusal
    bounded = takewhile(lambda each: until is None or each.fire < until, fires(read, anchor, offset, since))
    return CalendarAnswer(tuple(islice(bounded, limit)), tuple(refused))


def _anchor(given: Mapping[str, Any]) -> Anchor:
    anchor: Anchor = given.get("anchor", "start")
    if anchor not in get_args(Anchor):
        raise Refused("bad_input", "anchor: expected start, end or due")
    return anchor


def _offset(text: str | None) -> timedelta:
    if text is None or text.strip() in ("0", "+0", "-0"):
        return timedelta()
    plain = text.strip().removeprefix("+")
    try:
        if "P" in plain.upper():
            length = parse_length(plain, "offset")
            return timedelta(days=length.days) + length.exact
        return parse_duration(plain)
    except ValueError as fault:
        said = "expected a duration such as -10m or -PT10M" if isinstance(fault, Refused) else str(fault)
        raise Refused("bad_input", f"offset: {said}") from None


def _bound(text: str | None, name: str, zone: tzinfo | None) -> datetime | None:
    if text is None:
        return None
    local = at_midnight(parse_moment(text, name))
    if local.tzinfo is not None:
        return local.astimezone(UTC)
    try:
        return instant_of(local, zone or UTC)
    except OverflowError:
        return END if local.year > 1 else BEGINNING
