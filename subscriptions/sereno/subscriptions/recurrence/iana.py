"""Time zones by their IANA names alone; apart, because every process reads some and few read calendars."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_NO_PLACES = frozenset({"localtime", "posixrules", "Factory", "posix", "right"})
_LONGEST = 64


def iana(name: str) -> ZoneInfo | None:
    """The zone of an IANA name that says a place or an offset; None for any other name."""
    if not name or len(name) > _LONGEST or name.split("/", maxsplit=1)[0] in _NO_PLACES:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
