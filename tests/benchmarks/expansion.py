"""Occurrences per second of some rules in a zone. Run by `make bench-expansion`."""

import sys
import time
from itertools import islice
from zoneinfo import ZoneInfo

from sereno.subscriptions.recurrence.declared import declared_series
from sereno.subscriptions.recurrence.series import occurrences

COUNT = 20_000
ZONE = "America/New_York"
RULES = (
    "FREQ=DAILY",
    "FREQ=DAILY;BYHOUR=9,17",
    "FREQ=WEEKLY;BYDAY=MO,WE,FR",
    "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=HOURLY",
    "FREQ=MINUTELY;INTERVAL=15",
    "FREQ=HOURLY;BYHOUR=9,10;BYDAY=MO",
)


def per_second(rule: str) -> float:
    """How many of the first occurrences of a rule are found per second of processor time."""
    series = declared_series("2020-01-01T09:00:00", ZoneInfo(ZONE), rules=[rule])
    begun = time.process_time()
    found = sum(1 for _ in islice(occurrences(series), COUNT))
    return found / (time.process_time() - begun)


def main() -> None:
    for rule in RULES:
        sys.stdout.write(f"{rule:40} {per_second(rule):>10,.0f} a second\n")


if __name__ == "__main__":
    main()
