"""Every offset change of every IANA zone from 2020 to 2040, under every policy for gaps and overlaps.

Run by `make torture-clock-changes`; takes some minutes on all processors. The test suite looks at a sample of it.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from zoneinfo import ZoneInfo

from tests.clock_changes import changes, faults, zone_names


def of_zone(name: str) -> tuple[int, list[str]]:
    """How many changes a zone has, and what is wrong around them."""
    found = [fault for change in changes(name) for fault in faults(name, change)]
    return len(changes(name)), found


def distinct() -> list[str]:
    """One name for each clock: aliases have the same changes with the same offsets."""
    clocks = {
        tuple((c, c.astimezone(ZoneInfo(name)).utcoffset()) for c in changes(name)): name
        for name in zone_names()
    }
    return sorted(clocks.values())


def main() -> int:
    names = distinct()
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(of_zone, names))
    wrong = [fault for _, found in results for fault in found]
    for fault in wrong[:50]:
        sys.stdout.write(f"{fault}\n")
    total = sum(number for number, _ in results)
    sys.stdout.write(
        f"{len(zone_names())} zones, {len(names)} different clocks, {total} changes, {len(wrong)} faults\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
