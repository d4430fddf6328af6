"""What one entry of a calendar says about itself: its version, its beginning, its length, whether it is over."""

from sereno.subscriptions.recurrence.calendar_text import Component, Property
from sereno.subscriptions.recurrence.calendar_values import Length, Zones, between, parse_length, written
from sereno.subscriptions.recurrence.refusal import Refused, shortened

_LONGEST_SEQUENCE = 10


def start_of(entry: Component) -> Property | None:
    """Where an entry begins: DTSTART, or DUE for a task without one."""
    return entry.one("DTSTART") or (entry.one("DUE") if entry.kind == "VTODO" else None)


def is_over(entry: Component) -> bool:
    """Whether an entry is cancelled or a completed task: nothing is due for it any more."""
    status = (entry.text("STATUS") or "").upper()
    done = entry.kind == "VTODO" and (status == "COMPLETED" or "COMPLETED" in entry.properties)
    return status == "CANCELLED" or done


def version_of(entry: Component) -> tuple[int, str]:
    """By what the later of two versions is known: SEQUENCE, then when it was last changed."""
    sequence = entry.text("SEQUENCE") or "0"
    if not sequence.lstrip("-").isdecimal() or len(sequence) > _LONGEST_SEQUENCE:
        raise Refused("bad_calendar", f"SEQUENCE:{shortened(sequence)}: expected a whole number")
    return int(sequence), entry.text("LAST-MODIFIED") or entry.text("DTSTAMP") or ""


def length_of(entry: Component, zones: Zones) -> Length:
    """How long it takes: to DTEND or DUE, else DURATION, else one day for a day and nothing for a time."""
    start = start_of(entry)
    if start is None:
        return Length()
    begun = written(start, zones)
    end = entry.one("DUE" if entry.kind == "VTODO" else "DTEND")
    if end is not None:
        return between(begun, written(end, zones))
    duration = entry.one("DURATION")
    if duration is not None:
        return parse_length(duration.value, "DURATION")
    return Length(days=1) if begun.whole_day and entry.kind == "VEVENT" else Length()
