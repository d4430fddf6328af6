"""What a recurrence rule says (RFC 5545 3.3.10, RFC 7529 for the Gregorian calendar)."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from sereno.subscriptions.recurrence.moment import Moment

Skip = Literal["OMIT", "BACKWARD", "FORWARD"]


class Frequency(IntEnum):
    """How long a period of a rule is; everything below DAILY counts elapsed time."""

    YEARLY = 7
    MONTHLY = 6
    WEEKLY = 5
    DAILY = 4
    HOURLY = 3
    MINUTELY = 2
    SECONDLY = 1


WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True, slots=True)
class Weekday:
    """A weekday (Monday is 0) and which one of a month or year; 0 means every one."""

    weekday: int
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """A validated recurrence rule; lists are ascending and without doubles, empty when the part is absent."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: Moment | None = None
    by_second: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_hour: tuple[int, ...] = ()
    by_day: tuple[Weekday, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_week_number: tuple[int, ...] = ()
    by_month: tuple[int, ...] = ()
    by_position: tuple[int, ...] = ()
    week_start: int = 0
    skip: Skip = "OMIT"

    @property
    def is_elapsed(self) -> bool:
        """Whether the rule steps in real time instead of wall-clock time."""
        return self.frequency < Frequency.DAILY
