"""The series of a calendar: each UID's repeating entry with what became of single occurrences."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo

from sereno.subscriptions.recurrence.calendar_entry import is_over, length_of, start_of, version_of
from sereno.subscriptions.recurrence.calendar_text import Calendar, Component
from sereno.subscriptions.recurrence.calendar_values import (
    Length,
    Zones,
    listed,
    period_length,
    written,
    zones_of,
)
from sereno.subscriptions.recurrence.local_time import Policy, anchor
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule import Rule
from sereno.subscriptions.recurrence.rule_instants import Start
from sereno.subscriptions.recurrence.rule_text import parse_rule
from sereno.subscriptions.recurrence.series import Override, Series, Written

MAX_LATER = 1_000
"""How many RANGE=THISANDFUTURE entries one series may have."""
_NEVER = Start(datetime(1970, 1, 1), UTC)


@dataclass(frozen=True, slots=True)
class CalendarSeries:
    """One UID of a calendar: when it happens, and the entries that say what each occurrence is."""

    uid: str | None
    series: Series
    entries: tuple[Component, ...] = ()
    """The repeating entry first, then what was said about single occurrences; `Occurrence.entry` counts in here."""
    lengths: tuple[Length, ...] = ()
    periods: dict[datetime, Length] = field(default_factory=dict)
    """The lengths of occurrences that RDATE gives as periods, by their instant."""
    is_cancelled: bool = False


def by_uid(calendar: Calendar) -> list[tuple[str | None, list[Component]]]:
    """The entries of each UID, in the order in which they first appear; an entry without UID stands alone."""
    found: dict[tuple[str | None, int], list[Component]] = {}
    for index, entry in enumerate(calendar.entries):
        uid = entry.text("UID") or None
        found.setdefault((uid, 0 if uid else index), []).append(entry)
    return [(uid, entries) for (uid, _), entries in found.items()]


def read_series(
    uid: str | None, entries: Sequence[Component], calendar: Calendar, zone: tzinfo | None, policy: Policy
) -> CalendarSeries:
    """The series of the entries of one UID; floating times and whole days are read in `zone` where it is given.

    The latest version of each entry counts. Refused where an entry cannot be read exactly.
    """
    ordered = sorted(entries, key=version_of)
    masters = [entry for entry in ordered if "RECURRENCE-ID" not in entry.properties]
    changes = [entry for entry in ordered if "RECURRENCE-ID" in entry.properties]
    kept = tuple(masters[-1:] + changes)
    if calendar.cancelled or any(map(is_over, masters[-1:])) or all(map(is_over, kept)):
        return CalendarSeries(uid, Series(_NEVER, policy=policy, has_master=False), kept, is_cancelled=True)
    return _Reading(calendar, zone, policy).read(uid, masters[-1] if masters else None, changes)


class _Reading:
    """Reads the entries of one UID in the zones of their calendar."""

    def __init__(self, calendar: Calendar, zone: tzinfo | None, policy: Policy) -> None:
        self._zones: Zones = zones_of(calendar.zones)
        self._zone, self._policy = zone, policy

    def read(self, uid: str | None, master: Component | None, changes: list[Component]) -> CalendarSeries:
        """The series of a repeating entry, which may be missing, and the changes to it."""
        kept = (*([master] if master else ()), *changes)
        first = master or next(entry for entry in changes if start_of(entry) is not None or is_over(entry))
        start = self._start(first)
        overrides = tuple(
            self._override(entry, index, start, master)
            for index, entry in enumerate(kept)
            if entry is not master
        )
        if sum(each.and_later for each in overrides) > MAX_LATER:
            raise Refused("too_large", f"more than {MAX_LATER} entries with RANGE=THISANDFUTURE")
        series = Series(start, overrides=overrides, policy=self._policy, has_master=master is not None)
        # An entry that says no start keeps the length of the one that repeats.
        lengths = tuple(length_of(e if start_of(e) or not master else master, self._zones) for e in kept)
        if master is None:
            return CalendarSeries(uid, series, kept, lengths)
        added, periods = self._added(master, start)
        full = replace(
            series,
            rules=_rules(master, "RRULE"),
            excluded_rules=_rules(master, "EXRULE"),
            added=added,
            left_out=self._times(master, "EXDATE"),
        )
        return CalendarSeries(uid, full, kept, lengths, periods)

    def _start(self, entry: Component) -> Start:
        stated = start_of(entry) or (entry.one("RECURRENCE-ID") if is_over(entry) else None)
        if stated is None:
            raise Refused("bad_calendar", f"{entry.kind} without DTSTART: expected when it happens")
        begun = written(stated, self._zones)
        if begun.whole_day:
            return Start(begun.local, self._zone or UTC, whole_days=True, floating=self._zone is None)
        if begun.zone is None:
            return Start(begun.local, self._zone or UTC, floating=self._zone is None)
        return Start(begun.local, begun.zone)

    def _override(self, entry: Component, index: int, start: Start, master: Component | None) -> Override:
        stated = entry.one("RECURRENCE-ID")
        if stated is None:
            raise Refused("bad_calendar", "RECURRENCE-ID: expected which occurrence is meant")
        reach = stated.parameters.get("RANGE", "").upper()
        if reach not in ("", "THISANDFUTURE"):
            raise Refused("unsupported_rule", f"RECURRENCE-ID;RANGE={reach}: only THISANDFUTURE is expanded")
        _refuse_own_rule(entry, master)
        original, begun = written(stated, self._zones), start_of(entry)
        if is_over(entry):
            return Override(original, None, reach != "", index)
        # An entry that says no start changes something else than the time.
        moved = original if begun is None else written(begun, self._zones)
        if start.whole_days and not moved.whole_day:
            raise Refused("unsupported_rule", "an occurrence of an all-day entry is moved to a time of day")
        if reach and original.whole_day != moved.whole_day:
            raise Refused(
                "unsupported_rule", "RANGE=THISANDFUTURE between a day and a time has no exact meaning"
            )
        return Override(original, moved, reach != "", index)

    def _times(self, master: Component, name: str) -> tuple[Written, ...]:
        return tuple(
            written(each, self._zones, text)
            for each in master.properties.get(name, [])
            for text in listed(each)
        )

    def _added(self, master: Component, start: Start) -> tuple[tuple[Written, ...], dict[datetime, Length]]:
        added, periods = [], {}
        for each in master.properties.get("RDATE", []):
            for text in listed(each):
                begin, slash, end = text.partition("/")
                time = written(each, self._zones, begin)
                refuse_other_type(time, start)
                added.append(time)
                if slash:
                    instant = anchor(time.local, time.zone or start.zone)
                    periods[instant] = period_length(end, time, each, self._zones)
        return tuple(added), periods


def refuse_other_type(time: Written, start: Start) -> None:
    """Refused when an added occurrence is a day in a series of times, or the reverse."""
    if time.whole_day != start.whole_days:
        expected = "a whole day, as the start is" if start.whole_days else "a time of day, as the start has"
        raise Refused("bad_rule", f"RDATE {time.local:%Y-%m-%d}: expected {expected}")


def _rules(master: Component, name: str) -> tuple[Rule, ...]:
    return tuple(parse_rule(each.value) for each in master.properties.get(name, []))


def _refuse_own_rule(entry: Component, master: Component | None) -> None:
    """Some programs copy the rule into a changed occurrence; any other rule there has no meaning."""
    for name in ("RRULE", "RDATE"):
        own = [each.value for each in entry.properties.get(name, [])]
        repeated = [each.value for each in master.properties.get(name, [])] if master else []
        if own and own != repeated:
            raise Refused("unsupported_rule", f"an entry with RECURRENCE-ID has its own {name}")
