"""Every offset change of every IANA zone from 2020 to 2040, under every policy for gaps and overlaps.

Run by `make torture-clock-changes`; takes some minutes on all processors. The test suite looks at a sample of it.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

from tests.clock_changes import DAY, NEAR, changes, faults, zone_names

Change = tuple[str, datetime]
# Within this the clock is looked at; changes that look alike there are one.
_AROUND = NEAR + 3 * DAY


def of_change(change: Change) -> list[str]:
    """What is wrong around one change of a zone."""
    return list(faults(*change))


def appearance(name: str, change: datetime) -> tuple[object, ...]:
    """All that the clock of a zone does near a change: every zone in which it is the same behaves the same."""
    zone, moment = ZoneInfo(name), timedelta(minutes=1)
    near = [other for other in changes(name) if abs(other - change) <= _AROUND]
    offsets = [(other - moment, other) for other in near]
    return (change, *((t, t.astimezone(zone).utcoffset()) for pair in offsets for t in pair))


def clocks() -> list[str]:
    """One name for each clock: aliases have the same file."""
    return sorted({_content(name): name for name in zone_names()}.values())


def _content(name: str) -> bytes:
    for root in TZPATH:
        file = Path(root, name)
        if file.is_file():
            return file.read_bytes()
    return resources.files("tzdata").joinpath("zoneinfo", name).read_bytes()


def distinct(names: list[str]) -> list[Change]:
    """One zone for each change, wherever else the clock does the same at the same time."""
    found = {appearance(name, change): (name, change) for name in names for change in changes(name)}
    return sorted(found.values())


def main() -> int:
    names = clocks()
    total = sum(len(changes(name)) for name in names)
    looked_at = distinct(names)
    with ProcessPoolExecutor() as pool:
        wrong = [fault for found in pool.map(of_change, looked_at, chunksize=8) for fault in found]
    for fault in wrong[:50]:
        sys.stdout.write(f"{fault}\n")
    sys.stdout.write(
        f"{len(zone_names())} zones, {len(names)} different clocks with {total} changes, "
        f"{len(looked_at)} of them different, {len(wrong)} faults\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
