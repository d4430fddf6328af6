"""The occurrences of a calendar that a subscription follows, and when each wakes it (pure)."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo

from sereno.envelope import dedup_key
from sereno.subscriptions.expression import Expression, FilterFault, compile_expression, event_of
from sereno.subscriptions.models.source import CalendarSelect, CalendarSource
from sereno.subscriptions.recurrence.anchored import Fire, fires, read_all
from sereno.subscriptions.recurrence.calendar_series import CalendarSeries
from sereno.subscriptions.recurrence.calendar_text import Component, parse_calendar
from sereno.subscriptions.recurrence.local_time import Policy
from sereno.subscriptions.recurrence.refusal import Refused

MAX_WANTED = 5_000
"""How many wake-ups of one calendar are kept ready; those after them follow as time goes on."""
_LONGEST_FACT = 1_000
_FAR = timedelta(days=400)
"""So far from where it was an occurrence that was moved is looked for."""
_ESCAPED = re.compile(r"\\([nN,;\\])")
_COMMA = re.compile(r"(?<!\\),")
_NO_UID = "no-uid"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence of an entry: which it is, when it starts, the time it is reckoned from, and when it wakes.

    `facts` is what the entry says of itself, which nobody vouches for.
    """

    uid: str
    recurrence: datetime | None
    start: datetime
    anchor: datetime
    fire: datetime
    offset: timedelta
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> str:
        """Its dedup key: the same occurrence at the same time is the same, whoever reads it."""
        return dedup_key.of_calendar(self.uid, self.recurrence, self.anchor, self.offset)

    @property
    def entry(self) -> bytes:
        """Which occurrence it is, whenever it takes place."""
        which = "" if self.recurrence is None else self.recurrence.isoformat()
        return hashlib.sha256(f"{which}\n{self.uid}".encode()).digest()[:16]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a calendar calls for until a moment, earliest first, and sentences about what could not be read.

    It is complete to `until`, which lies nearer than asked for where there are very many.
    """

    wanted: Sequence[Occurrence]
    until: datetime
    refused: Sequence[str] = ()
    uids: frozenset[str] = frozenset()


def read(
    texts: Iterable[str], source: CalendarSource, zone: str | None, since: datetime, until: datetime
) -> Reading:
    """What a source calls for after `since` and up to `until`, both fires.

    Raises Refused when a text is no calendar at all: half of it would pass for the removal of the rest.
    """
    offset = source.offset or timedelta()
    policy = Policy(source.gap or "shift", source.overlap or "first")
    chosen = _Chosen(source.select)
    found: list[Occurrence] = []
    refused: list[str] = []
    uids: set[str] = set()
    for series in _series(texts, _zone(zone), policy, refused):
        uids.add(series.uid or _NO_UID)
        if series.series.start.floating and not series.is_cancelled:
            refused.append(f"{_named(series.uid)}: its times name no zone; give the subscription one")
            continue
        try:
            for fire in fires([series], source.anchor, offset, since):
                if fire.fire > until:
                    break
                if fire.fire > since and chosen.has(fire):
                    found.append(_occurrence(fire, offset))
                if len(found) > 2 * MAX_WANTED:
                    found = sorted(found, key=_by_fire)[:MAX_WANTED]
                    until = found[-1].fire
        except (Refused, FilterFault) as fault:
            refused.append(f"{_named(series.uid)}: {fault}")
    found.sort(key=_by_fire)
    if len(found) > MAX_WANTED:
        found = found[:MAX_WANTED]
        until = found[-1].fire
    return Reading(found, until, refused, frozenset(uids))


def whereabouts(
    texts: Iterable[str], source: CalendarSource, zone: str | None, lost: Sequence[Occurrence]
) -> frozenset[bytes]:
    """Which of the lost occurrences take place after all, at another time than was looked at."""
    sought = {(one.uid, one.recurrence): one.entry for one in lost}
    uids, chosen = {one.uid for one in lost}, _Chosen(source.select)
    since = min(one.fire for one in lost) - _FAR
    until = max(one.fire for one in lost) + _FAR
    found: set[bytes] = set()
    for series in _series(texts, _zone(zone), Policy(source.gap or "shift", source.overlap or "first"), []):
        if (series.uid or _NO_UID) not in uids or series.series.start.floating:
            continue
        due = fires([series], source.anchor, source.offset or timedelta(), since)
        for fire in islice(takewhile(lambda each: each.fire <= until, due), MAX_WANTED):
            entry = sought.get((fire.uid or _NO_UID, fire.recurrence_id))
            if entry is not None and chosen.has(fire):
                found.add(entry)
    return frozenset(found)


def of_date(name: str, moment: datetime | None, offset: timedelta) -> Sequence[Occurrence]:
    """The one occurrence of a date that a declared object carries, if it does."""
    if moment is None:
        return ()
    return (Occurrence(name, None, moment, moment, moment + offset, offset),)


def _by_fire(each: Occurrence) -> tuple[datetime, str]:
    return each.fire, each.uid


def _zone(name: str | None) -> tzinfo | None:
    return None if name is None else ZoneInfo(name)


def _series(
    texts: Iterable[str], zone: tzinfo | None, policy: Policy, refused: list[str]
) -> Iterator[CalendarSeries]:
    for text in texts:
        read, bad = read_all(parse_calendar(text), zone, policy)
        refused += [f"{_named(each.uid)}: {each.refusal}" for each in bad]
        yield from read


def _named(uid: str | None) -> str:
    return "an entry without UID" if uid is None else f"the entry {uid[:80]!r}"


def _occurrence(fire: Fire, offset: timedelta) -> Occurrence:
    return Occurrence(
        uid=fire.uid or _NO_UID,
        recurrence=fire.recurrence_id,
        start=fire.start,
        anchor=fire.anchor,
        fire=fire.fire,
        offset=offset,
        facts=_facts(fire.entry),
    )


def _facts(entry: Component) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "task" if entry.kind == "VTODO" else "event"}
    for name in ("SUMMARY", "LOCATION"):
        text = entry.text(name)
        if text:
            found[name.lower()] = _plain(text)[:_LONGEST_FACT]
    categories = _categories(entry)
    if categories:
        found["categories"] = categories
    return found


def _categories(entry: Component) -> list[str]:
    texts = (text for each in entry.properties.get("CATEGORIES", []) for text in _COMMA.split(each.value))
    return [_plain(text.strip())[:_LONGEST_FACT] for text in texts if text.strip()][:64]


def _plain(text: str) -> str:
    """The text of a property without the escapes of RFC 5545 3.3.11."""
    return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], text)


class _Chosen:
    """Which occurrences the subscription wants: those of one UID, of a category, those an expression holds for."""

    def __init__(self, select: CalendarSelect | None) -> None:
        self._select = select or CalendarSelect()
        cel = self._select.cel
        self._expression: Expression | None = None if cel is None else compile_expression(cel)

    def has(self, fire: Fire) -> bool:
        select = self._select
        if select.uid is not None and fire.uid != select.uid:
            return False
        if select.category is not None and select.category not in _categories(fire.entry):
            return False
        if self._expression is None:
            return True
        data = {"uid": fire.uid, "start": fire.start.isoformat(), **_facts(fire.entry)}
        return self._expression.holds(event_of({"data": data}))
