"""What the properties of a calendar entry say about time."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from sereno.subscriptions.recurrence.calendar_text import Component, Property
from sereno.subscriptions.recurrence.embedded_zone import EmbeddedZone, Observance
from sereno.subscriptions.recurrence.local_time import anchor, wall_clock
from sereno.subscriptions.recurrence.moment import Moment, at_midnight, is_day, parse_moment
from sereno.subscriptions.recurrence.refusal import Refused, shortened
from sereno.subscriptions.recurrence.rule_text import parse_rule
from sereno.subscriptions.recurrence.series import Written
from sereno.subscriptions.recurrence.zones import zone_named

MAX_VALUES = 100_000
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2}):?([0-9]{2})?", re.ASCII)
_DURATION = re.compile(
    r"([+-])?P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?", re.ASCII
)

Zones = Callable[[str], tzinfo]
"""The zone of a TZID, in the calendar at hand."""


@dataclass(frozen=True, slots=True)
class Length:
    """How long something takes: so many days on the calendar, then so much time (RFC 5545 3.3.6)."""

    days: int = 0
    exact: timedelta = timedelta()

    def after(self, instant: datetime, zone: tzinfo) -> datetime:
        """The end of what starts at an instant; OverflowError outside the years 1 to 9999."""
        if self.days:
            instant = anchor(wall_clock(instant, zone) + timedelta(days=self.days), zone)
        return instant + self.exact


def zones_of(defined: Mapping[str, Component]) -> Zones:
    """Looks a TZID up among the zones that the calendar defines itself, then by name."""
    built: dict[str, tzinfo] = {}

    def find(name: str) -> tzinfo:
        key = name.strip('"')
        if key not in built:
            built[key] = _embedded(key, defined[key]) if key in defined else zone_named(key)
        return built[key]

    return find


def _embedded(name: str, zone: Component) -> EmbeddedZone:
    observances = (_observance(each) for each in zone.children if each.kind in ("STANDARD", "DAYLIGHT"))
    return EmbeddedZone(name, observances)


def _observance(component: Component) -> Observance:
    start = component.one("DTSTART")
    if start is None:
        raise Refused("bad_calendar", f"{component.kind} of a VTIMEZONE without DTSTART: expected its onset")
    return Observance(
        start=_onset(parse_moment(start.value, "DTSTART")),
        before=_offset(component, "TZOFFSETFROM"),
        to=_offset(component, "TZOFFSETTO"),
        rules=tuple(parse_rule(each.value) for each in component.properties.get("RRULE", [])),
        dates=tuple(
            _onset(parse_moment(text, "RDATE"))
            for each in component.properties.get("RDATE", [])
            for text in each.value.split(",")
        ),
    )


def _onset(moment: Moment) -> datetime:
    return at_midnight(moment).replace(tzinfo=None)


def _offset(component: Component, name: str) -> timedelta:
    text = component.text(name) or ""
    matched = _OFFSET.fullmatch(text)
    if matched is None:
        raise Refused("bad_calendar", f"{name}:{shortened(text)}: expected an offset from UTC such as +0100")
    length = timedelta(hours=int(matched[2]), minutes=int(matched[3]), seconds=int(matched[4] or 0))
    if length >= timedelta(days=1):
        raise Refused("bad_calendar", f"{name}:{text}: expected less than a day")
    return -length if matched[1] == "-" else length


def written(value: Property, zones: Zones, text: str | None = None) -> Written:
    """The time that a property (or one `text` out of its list) says."""
    moment = parse_moment(value.value if text is None else text, value.name)
    named = value.parameters.get("TZID")
    if is_day(moment):
        return Written(at_midnight(moment), None, whole_day=True)
    local = at_midnight(moment)
    if local.tzinfo is not None:
        if named is not None and zones(named) is not UTC:
            raise Refused(
                "bad_calendar", f"{value.name} is in UTC and names the zone {named!r}: expected one of them"
            )
        return Written(local.astimezone(UTC).replace(tzinfo=None), UTC)
    return Written(local, zones(named) if named is not None else None)


def listed(value: Property) -> Iterator[str]:
    """The texts of a list of times."""
    if value.value.count(",") >= MAX_VALUES:
        raise Refused("too_large", f"{value.name} has more than {MAX_VALUES} values")
    return (text.strip() for text in value.value.split(",") if text.strip())


def period_length(text: str, start: Written, value: Property, zones: Zones) -> Length:
    """The length of a period written as `/END` or `/DURATION`."""
    if text.lstrip("+-").startswith("P"):
        return parse_length(text, value.name)
    return between(start, written(value, zones, text))


def between(start: Written, end: Written) -> Length:
    """The length from one written time to another: whole days, else exact time."""
    if start.whole_day or end.whole_day:
        return Length(days=(end.local.date() - start.local.date()).days)
    if start.zone is None or end.zone is None:
        return Length(exact=end.local - start.local)
    return Length(exact=anchor(end.local, end.zone) - anchor(start.local, start.zone))


def parse_length(text: str, name: str) -> Length:
    """The length that ISO 8601 text such as `PT1H30M` or `P1D` says."""
    matched = _DURATION.fullmatch(text.strip().upper())
    if matched is None or not any(matched.groups()[1:]):
        raise Refused("bad_calendar", f"{name}:{shortened(text)}: expected a duration such as PT30M or P1D")
    weeks, days, hours, minutes, seconds = (int(each or 0) for each in matched.groups()[1:])
    sign = -1 if matched[1] == "-" else 1
    exact = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return Length(sign * (7 * weeks + days), sign * exact)
