"""What is wrong with the fields of a time source, each looked at by itself, so that all faults are told at once."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from sereno.subscriptions.recurrence.cron import check_cron
from sereno.subscriptions.recurrence.declared import declared_series, declared_times
from sereno.subscriptions.recurrence.iana import iana
from sereno.subscriptions.recurrence.local_time import DEFAULT
from sereno.subscriptions.recurrence.recurring import of_calendar
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule_text import parse_rule

_OWN_NAME = re.compile(r"^(?:time|dtstart|ics): ")

Objection = tuple[tuple[str | int, ...], str]


def objections(fields: Mapping[str, Any]) -> Iterator[Objection]:
    """Path and sentence of every field that cannot be read; fields of a wrong type are left to the model."""
    zone = iana(fields["zone"]) if isinstance(fields.get("zone"), str) else None
    for name, check in _checks(zone).items():
        if isinstance(fields.get(name), str):
            yield from _refused((name,), check, fields[name])
    for name in ("rdates", "exdates"):
        listed = fields.get(name)
        for index, text in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(text, str):
                yield from _refused((name, index), lambda value: list(declared_times("time", [value])), text)


def _checks(zone: tzinfo | None) -> Mapping[str, Callable[[str], object]]:
    return {
        "rrule": parse_rule,
        "dtstart": lambda text: declared_series(text, zone),
        "cron": check_cron,
        "ics": lambda text: _calendar(text, zone),
    }


def _calendar(text: str, zone: tzinfo | None) -> None:
    if "BEGIN:" not in text.upper():
        raise Refused(
            "bad_calendar",
            "expected iCalendar text; only the command line puts the text of a file in its place",
        )
    of_calendar(text, zone, DEFAULT)


def _refused(path: tuple[str | int, ...], check: Callable[[str], object], text: str) -> Iterator[Objection]:
    try:
        check(text)
    except Refused as refused:
        # The path names the field already.
        yield path, _OWN_NAME.sub("", str(refused), count=1)
