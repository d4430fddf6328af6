"""Context attributes: names, types and values that CloudEvents 1.0.2 allows."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sereno.envelope import media_type
from sereno.envelope.event import SPECVERSION, Event
from sereno.envelope.rejection import Rejected

REQUIRED = ("specversion", "id", "source", "type")
_STANDARD = frozenset({*REQUIRED, "time", "subject", "datacontenttype", "dataschema"})
_RESERVED = frozenset({"data", "data_base64"})
_NAME = re.compile(r"[a-z0-9]+\Z")
_INTEGER_MIN, _INTEGER_MAX = -(1 << 31), (1 << 31) - 1

# Type system, String: no control characters, no surrogates, no noncharacters.
_FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
    + "]"
)
_URI_CHARACTERS = r"(?:[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})"
_URI_REFERENCE = re.compile(rf"(?=.){_URI_CHARACTERS}*(?:#{_URI_CHARACTERS}*)?\Z")
_URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:{_URI_CHARACTERS}*(?:#{_URI_CHARACTERS}*)?\Z")
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d{1,6})\d*)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)\Z",
    re.ASCII,
)


def event_of(attributes: Mapping[str, Any], data: object) -> Event | Rejected:
    """The event of checked attributes and decoded data, or why there is none; nothing is ever filled in."""
    for name, value in attributes.items():
        rejected = _check(name, value)
        if rejected is not None:
            return rejected
    for name in REQUIRED:
        if name not in attributes:
            return Rejected("missing_attribute", f"the required attribute {name} is missing", name)
    if attributes["specversion"] != SPECVERSION:
        return Rejected("unsupported_specversion", f"specversion must be {SPECVERSION}", "specversion")
    time = attributes.get("time")
    moment = None if time is None else timestamp(time)
    if isinstance(moment, Rejected):
        return moment
    return Event(
        id=attributes["id"],
        source=attributes["source"],
        type=attributes["type"],
        time=moment,
        subject=attributes.get("subject"),
        datacontenttype=attributes.get("datacontenttype"),
        dataschema=attributes.get("dataschema"),
        data=data,
        extensions={name: value for name, value in attributes.items() if name not in _STANDARD},
    )


def timestamp(text: str) -> datetime | Rejected:
    """The UTC moment of an RFC 3339 text, cut to microseconds; a leap second reads as the microsecond before."""
    match = _RFC3339.match(text)
    if match is None:
        return Rejected(
            "invalid_time", "time must be RFC 3339 with an offset, like 2027-03-04T05:06:07Z", "time"
        )
    date, minutes, seconds, fraction, offset = match.groups()
    leap = seconds == "60"
    written = f"{date}T{minutes}:{'59' if leap else seconds}"
    try:
        moment = datetime.fromisoformat(written + offset.upper().replace("Z", "+00:00"))
        micros = 999_999 if leap else int((fraction or "").ljust(6, "0"))
        return moment.astimezone(UTC) + timedelta(microseconds=micros)
    except (ValueError, OverflowError):
        return Rejected("invalid_time", f"time names no moment of the calendar: {written}", "time")


def _check(name: str, value: object) -> Rejected | None:
    if name in _RESERVED:
        return Rejected("invalid_attribute_name", f"{name} is no attribute", name)
    if _NAME.match(name) is None:
        return Rejected("invalid_attribute_name", f"{name!r} must be lower-case letters and digits", name)
    if isinstance(value, str):
        return _check_text(name, value)
    if name in _STANDARD:
        return Rejected("invalid_attribute_type", f"{name} must be a string", name)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        if _INTEGER_MIN <= value <= _INTEGER_MAX:
            return None
        return Rejected("invalid_attribute_value", f"{name} must fit 32 bits; send it as a string", name)
    return Rejected("invalid_attribute_type", f"{name} must be a string, an integer or a boolean", name)


def _check_text(name: str, text: str) -> Rejected | None:
    if _FORBIDDEN.search(text) is not None:
        return Rejected("invalid_attribute_value", f"{name} has a character that CloudEvents forbids", name)
    if name not in _STANDARD:
        return None
    if not text:
        return Rejected("invalid_attribute_value", f"{name} must not be empty", name)
    if name == "source" and _URI_REFERENCE.match(text) is None:
        return Rejected("invalid_attribute_value", "source must be a URI reference", name)
    if name == "dataschema" and _URI.match(text) is None:
        return Rejected("invalid_attribute_value", "dataschema must be an absolute URI", name)
    if name == "datacontenttype" and media_type.parse(text) is None:
        return Rejected("invalid_attribute_value", "datacontenttype must be a media type", name)
    return None
