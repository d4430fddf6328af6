"""The times of day at which a rule fires: every hour with every minute with every second it names."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sereno.subscriptions.recurrence.rule import Rule


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Offsets from midnight, ascending, reachable by position without listing them (there may be 86,400)."""

    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.hours) * len(self.minutes) * len(self.seconds)

    def __getitem__(self, position: int) -> timedelta:
        rest, second = divmod(position, len(self.seconds))
        hour, minute = divmod(rest, len(self.minutes))
        return timedelta(hours=self.hours[hour], minutes=self.minutes[minute], seconds=self.seconds[second])

    def __iter__(self) -> Iterator[timedelta]:
        return (self[position] for position in range(len(self)))


def times_of(rule: Rule, start: datetime, *, whole_days: bool) -> TimesOfDay:
    """The times of a rule: its BY parts, else those of its start. A whole day has only its midnight (RFC 5545)."""
    if whole_days:
        return TimesOfDay((0,), (0,), (0,))
    return TimesOfDay(
        rule.by_hour or (start.hour,), rule.by_minute or (start.minute,), rule.by_second or (start.second,)
    )
