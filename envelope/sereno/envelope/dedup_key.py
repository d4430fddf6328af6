"""Dedup keys: the natural key of one logical occurrence, in the scope of tenant and origin (contract, 3.1).

Each constructor takes authenticated material only. Keys of two constructors never collide: `#` stands in those
of events alone, and the others begin with their own word.
"""

import hashlib
import re
from datetime import UTC, datetime, timedelta

# Four bytes a character at most, beside tenant, origin and subscription in one row of an index (2,704 bytes).
_LONGEST = 512
_SHA256_HEX = re.compile(r"[0-9a-f]{64}\Z")


def of_event(source: str, event_id: str) -> str:
    """The key of a CloudEvent whose source and id are covered by the signature: `source#id`.

    One too long for an index stands there as its SHA-256, behind a word that no source can be.
    """
    key = f"{source}#{_escaped(event_id)}"
    if len(key) <= _LONGEST:
        return key
    return f"sha256 of#{hashlib.sha256(key.encode()).hexdigest()}"


def of_delivery(delivery_id: str) -> str:
    """The key of a delivery whose id the sender signed."""
    return f"delivery:{_escaped(delivery_id)}"


def of_body(sha256_hex: str) -> str:
    """The key of a body without any id: its SHA-256, 64 lower-case hexadecimal digits."""
    if _SHA256_HEX.match(sha256_hex) is None:
        raise ValueError("a body's key is made of 64 lower-case hexadecimal digits of SHA-256")
    return f"body:{sha256_hex}"


def of_instant(schedule: str, instant: datetime) -> str:
    """The key of a nominal instant of a schedule; the instant must carry its offset."""
    return f"time:{_escaped(schedule)}@{_instant(instant)}"


def of_calendar(uid: str, recurrence: datetime | None, anchor: datetime, offset: timedelta) -> str:
    """The key of one occurrence of a calendar's entry at one time, so long before or after it; times carry offsets.

    An entry that does not repeat has no `recurrence`. A UID is as long as its writer likes: a key too long for an
    index stands there as its SHA-256.
    """
    which = "-" if recurrence is None else _instant(recurrence)
    key = f"calendar:{_escaped(uid)}@{which}@{_instant(anchor)}@{offset.total_seconds():+.0f}"
    if len(key) <= _LONGEST:
        return key
    return f"calendar:sha256@{hashlib.sha256(key.encode()).hexdigest()}"


def of_item(source: str, item: str, version: str) -> str:
    """The key of one version of an item of a polled source; one too long for an index stands there as its SHA-256."""
    key = f"item:{_escaped(source)}@{_escaped(item)}@{_escaped(version)}"
    if len(key) <= _LONGEST:
        return key
    return f"item:sha256@{hashlib.sha256(key.encode()).hexdigest()}"


def of_state(thing: str, state: str) -> str:
    """The key of a thing of the platform entering a state, such as a run that finished."""
    return f"state:{_escaped(thing)}@{_escaped(state)}"


def _instant(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError("an instant without an offset names no moment")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _escaped(text: str) -> str:
    # '#' and '@' separate; without this "a#b" + "c" and "a" + "b#c" would be one key.
    return text.replace("%", "%25").replace("#", "%23").replace("@", "%40")
