"""Time zones by the names that calendars give them."""

from datetime import UTC, tzinfo
from functools import lru_cache

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from sereno.subscriptions.recurrence.iana import iana
from sereno.subscriptions.recurrence.refusal import Refused, shortened

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
