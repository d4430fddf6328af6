"""iCalendar text as entries and zones: the one place that uses the `icalendar` parser.

Only its content lines are used: they are unfolded and split there, and every value is read by this package, so that
no zone is guessed and no rule is expanded on the way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from icalendar.parser import Contentline, Contentlines

from sereno.subscriptions.recurrence.refusal import Refused, shortened

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 8
MAX_ENTRIES = 50_000
ENTRIES = frozenset({"VEVENT", "VTODO"})
_READ = frozenset(
    [
        "UID",
        "SEQUENCE",
        "DTSTAMP",
        "LAST-MODIFIED",
        "STATUS",
        "COMPLETED",
        "SUMMARY",
        "CATEGORIES",
        "LOCATION",
        "DTSTART",
        "DTEND",
        "DUE",
        "DURATION",
        "RRULE",
        "EXRULE",
        "RDATE",
        "EXDATE",
        "RECURRENCE-ID",
        "TZID",
        "TZOFFSETFROM",
        "TZOFFSETTO",
        "METHOD",
    ]
)


@dataclass(frozen=True, slots=True)
class Property:
    """One property with its parameters (names in capitals) and its value as written."""

    name: str
    parameters: Mapping[str, str]
    value: str


@dataclass(frozen=True, slots=True)
class Component:
    """A component with the properties that matter for when something happens."""

    kind: str
    properties: dict[str, list[Property]] = field(default_factory=dict)
    children: list["Component"] = field(default_factory=list)

    def one(self, name: str) -> Property | None:
        """The property of this name; Refused when there are several."""
        found = self.properties.get(name, [])
        if len(found) > 1:
            raise Refused("bad_calendar", f"{self.kind} has {len(found)} {name} properties: expected one")
        return found[0] if found else None

    def text(self, name: str) -> str | None:
        """The value of the first property of this name."""
        found = self.properties.get(name)
        return found[0].value.strip() if found else None


@dataclass(frozen=True, slots=True)
class Calendar:
    """The entries of a calendar in their order, and the zones that it defines."""

    entries: tuple[Component, ...]
    zones: Mapping[str, Component]
    cancelled: bool = False


def parse_calendar(text: str | bytes) -> Calendar:
    """The calendar that `text` holds; Refused("bad_calendar" or "too_large") says what was expected."""
    found = _assembled(_lines(_decoded(text)))
    entries = tuple(_inside(found, ENTRIES))
    if len(entries) > MAX_ENTRIES:
        raise Refused("too_large", f"the calendar has {len(entries)} entries: expected at most {MAX_ENTRIES}")
    zones = {}
    for zone in _inside(found, frozenset({"VTIMEZONE"})):
        name = zone.text("TZID")
        if name is None:
            raise Refused("bad_calendar", "VTIMEZONE without TZID: expected its name")
        zones[name.strip('"')] = zone
    cancelled = any((each.text("METHOD") or "").upper() == "CANCEL" for each in found)
    return Calendar(entries, zones, cancelled)


def _decoded(text: str | bytes) -> str:
    if len(text) > MAX_BYTES:
        raise Refused("too_large", f"the calendar has {len(text)} bytes: expected at most {MAX_BYTES}")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("bad_calendar", "the calendar is not UTF-8: expected UTF-8 text") from None
    return text.removeprefix("\ufeff").replace("\r\r\n", "\r\n")


def _lines(text: str) -> Iterator[Contentline]:
    if "BEGIN:" not in text[:10_000].upper():
        raise Refused("bad_calendar", "expected iCalendar text that starts with BEGIN:VCALENDAR")
    try:
        lines: list[Contentline] = Contentlines.from_ical(text)  # type: ignore[no-untyped-call]
    except ValueError as fault:
        raise Refused("bad_calendar", f"the calendar cannot be read: {shortened(str(fault))}") from None
    return (line for line in lines if line.strip())


def _assembled(lines: Iterator[Contentline]) -> list[Component]:
    outermost: list[Component] = []
    open_: list[Component] = []
    for line in lines:
        end = _end_of_name(line)
        name = line[:end].strip().upper()
        if name == "BEGIN":
            begun = Component(_kind(line))
            (open_[-1].children if open_ else outermost).append(begun)
            open_.append(begun)
            if len(open_) > MAX_DEPTH:
                raise Refused("bad_calendar", f"components are nested deeper than {MAX_DEPTH}")
        elif name == "END":
            if not open_ or open_.pop().kind != _kind(line):
                raise Refused(
                    "bad_calendar", f"END:{shortened(_kind(line))} does not end what was begun last"
                )
        elif name in _READ and open_:
            open_[-1].properties.setdefault(name, []).append(_property(name, line, end))
    if open_:
        raise Refused("bad_calendar", f"{open_[-1].kind} is not ended: expected END:{open_[-1].kind}")
    return outermost


def _end_of_name(line: str) -> int:
    ends = [index for index in (line.find(":"), line.find(";")) if index >= 0]
    return min(ends, default=len(line))


def _kind(line: str) -> str:
    return line.partition(":")[2].strip().upper()


def _property(name: str, line: Contentline, end: int) -> Property:
    if line[end : end + 1] == ":":
        return Property(name, {}, line[end + 1 :])
    try:
        _, parameters, value = line.raw_parts()
    except ValueError:
        raise Refused("bad_calendar", f"{name}: {shortened(line)!r} is no property") from None
    texts = {
        str(key).upper(): value if isinstance(value, str) else ",".join(value)
        for key, value in parameters.items()
    }
    return Property(name, texts, value)


def _inside(components: list[Component], kinds: frozenset[str]) -> Iterator[Component]:
    for each in components:
        if each.kind in kinds:
            yield each
        elif each.kind == "VCALENDAR":
            yield from (child for child in each.children if child.kind in kinds)
