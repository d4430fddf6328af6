"""Whether every instant that was due is accounted for, once, and what became of it (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Literal

from sereno.execution_plane.listeners.schedule import TOLERANCE, Schedule, begun
from sereno.subscriptions import schedule as rule
from sereno.subscriptions.models.source import TimeSource

UNDECIDED = timedelta(seconds=60)
"""A signal that was emitted longer ago should have an outcome."""
_MOMENT = timedelta(microseconds=1)
_HELD = frozenset({"held", "awaiting_verdict"})

End = Literal["fired", "late", "merged", "held", "refused", "skipped", "pending"]
Kind = Literal["missing", "unexpected", "twice", "undecided", "overdue", "astray"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One record of the history: an instant that was emitted, or a run that was left out (`first` to `instant`)."""

    instant: datetime
    first: datetime
    count: int
    version: int
    emitted: datetime | None
    outcome: str | None
    reason: str | None

    @property
    def end(self) -> End:
        """What became of it."""
        if self.outcome == "skipped":
            return "skipped"
        if self.outcome is None or self.emitted is None:
            return "pending"
        if self.outcome == "delivered":
            return "late" if self.emitted - self.instant > TOLERANCE else "fired"
        if self.outcome == "merged":
            return "merged"
        return "held" if self.outcome in _HELD else "refused"


@dataclass(frozen=True, slots=True)
class Finding:
    """One instant that is not accounted for as it should be, and in which way."""

    kind: Kind
    instant: datetime
    message: str


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of one schedule: its history in order, the rules by version, and where it stands now."""

    history: Sequence[Recorded]
    rules: Mapping[int, TimeSource]
    schedule: Schedule | None
    held: bool = False


def findings(account: Account, now: datetime) -> Iterator[Finding]:
    """Everything about a schedule that does not add up; nothing, when all is accounted for."""
    yield from _once(account.history)
    by_rule = groupby(account.history, key=lambda record: account.rules.get(record.version))
    for source, records in by_rule:
        if source is not None:
            yield from _complete(source, list(records))
    for record in account.history:
        if record.end == "pending" and record.emitted is not None and now - record.emitted > UNDECIDED:
            yield Finding("undecided", record.instant, f"emitted at {record.emitted} and never decided")
    if account.schedule is not None:
        yield from _index(account, account.schedule, now)


def _once(history: Sequence[Recorded]) -> Iterator[Finding]:
    last: datetime | None = None
    for record in history:
        if last is not None and record.first <= last:
            yield Finding("twice", record.first, f"recorded again: the record before reaches to {last}")
        last = record.instant


def _complete(source: TimeSource, records: Sequence[Recorded]) -> Iterator[Finding]:
    """Between its first and last record, a rule names exactly what is recorded."""
    expected = _from(source, records[0].first)
    for record in records:
        first = next(expected, None)
        if first is not None and first < record.first:
            yield Finding("missing", first, "the rule names it and no record does")
        elif first != record.first or not _reaches(source, record, expected):
            yield Finding("unexpected", record.first, "recorded, and the rule does not name it so")
        elif record.count == 1 or source.every is None:
            continue
        expected = _from(source, record.instant + _MOMENT)


def _reaches(source: TimeSource, record: Recorded, later: Iterator[datetime]) -> bool:
    """Whether as many instants as are recorded, the first of them taken already, reach to the last of them."""
    if source.every is not None:
        # Reckoned, not listed: a run of an interval may be millions.
        return record.first + (record.count - 1) * source.every == record.instant
    last = record.first
    for _ in range(record.count - 1):
        last = next(later, last)
    return last == record.instant


def _from(source: TimeSource, first: datetime) -> Iterator[datetime]:
    return rule.instants(source, first - _MOMENT, rule.LAST)


def _index(account: Account, schedule: Schedule, now: datetime) -> Iterator[Finding]:
    """The index stands behind the last record, and what it names is not long past."""
    last = account.history[-1].instant if account.history else None
    expected = begun(schedule, schedule.counted_from, last).next_due
    if schedule.next_due != expected:
        where = expected or schedule.next_due or now
        yield Finding("astray", where, f"next is {schedule.next_due} and should be {expected}")
    elif expected is not None and now - expected > UNDECIDED and not account.held:
        yield Finding("overdue", expected, "due, and nobody has written it down")
