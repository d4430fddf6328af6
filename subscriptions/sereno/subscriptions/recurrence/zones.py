"""Time zones by the names that calendars give them."""

from datetime import UTC, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from sereno.subscriptions.recurrence.refusal import Refused, shortened

_NO_PLACES = frozenset({"localtime", "posixrules", "Factory", "posix", "right"})
_LONGEST = 64
_UTC_NAMES = frozenset(
    {"UTC", "Z", "Etc/UTC", "Zulu", "UCT", "Universal", "Etc/Universal", "Etc/Zulu", "Etc/UCT"}
)


def zone_named(name: str) -> tzinfo:
    """The zone of an IANA or Windows name, or of a path that ends in an IANA name (`/mozilla.org/…/Europe/Rome`).

    Refused("unknown_zone") for any other: a guess would fire at the wrong time.
    """
    found = _find(name.strip().strip('"'))
    if found is None:
        raise Refused(
            "unknown_zone",
            f"unknown time zone {shortened(name)!r}: expected an IANA name such as Europe/Madrid",
        )
    return found


@lru_cache(maxsize=1024)
def _find(name: str) -> tzinfo | None:
    if name in _UTC_NAMES:
        return UTC
    found = iana(name) or iana(WINDOWS_TO_OLSON.get(name, ""))
    if found is None and name.startswith("/"):
        parts = name.strip("/").split("/")
        for first in range(max(0, len(parts) - 3), len(parts)):
            found = found or iana("/".join(parts[first:]))
    return found


def iana(name: str) -> ZoneInfo | None:
    """The zone of an IANA name that says a place or an offset; None for any other name."""
    if (
        not name
        or len(name) > _LONGEST
        or name in _NO_PLACES
        or name.split("/", maxsplit=1)[0] in ("posix", "right")
    ):
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
