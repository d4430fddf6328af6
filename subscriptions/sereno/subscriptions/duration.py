"""Lengths of time as people write them: `10m`, `1h30m`, `-10m`."""

import re
from datetime import timedelta

LONGEST = timedelta(days=3660)

_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_PARTS = re.compile(r"-?" + "".join(rf"(?:([0-9]{{1,9}}){unit})?" for unit in _UNITS), re.ASCII)
_EXPECTED = "expected a duration such as 30s, 10m, 1h30m or 7d"


def parse_duration(text: str) -> timedelta:
    """The length that `text` names, with units w, d (24 h), h, m, s, ms from the largest to the smallest.

    A leading `-` makes it negative. ValueError says what was expected.
    """
    matched = _PARTS.fullmatch(text)
    if matched is None or not any(matched.groups()):
        raise ValueError(_EXPECTED)
    try:
        length = sum(
            (
                int(count) * unit
                for count, unit in zip(matched.groups(), _UNITS.values(), strict=True)
                if count
            ),
            timedelta(),
        )
    except OverflowError:
        length = LONGEST * 2
    if length > LONGEST:
        raise ValueError(f"expected a duration of at most {LONGEST.days} days")
    return -length if text.startswith("-") else length


def format_duration(length: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as the same length (whole milliseconds)."""
    rest = abs(length)
    parts = []
    for name, unit in _UNITS.items():
        if name == "w" and rest % unit:
            continue
        count, rest = divmod(rest, unit)
        if count:
            parts.append(f"{count}{name}")
    sign = "-" if length < timedelta() else ""
    return sign + ("".join(parts) or "0s")
