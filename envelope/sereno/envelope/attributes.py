"""Context attributes: names, types and values that CloudEvents 1.0.2 allows."""

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sereno.envelope import media_type, uri
from sereno.envelope.event import SPECVERSION, Event
from sereno.envelope.rejection import Rejected

REQUIRED = ("specversion", "id", "source", "type")
STANDARD = frozenset({*REQUIRED, "time", "subject", "datacontenttype", "dataschema"})
_RESERVED = frozenset({"data", "data_base64"})
_NAME = re.compile(r"[a-z0-9]+\Z")
_INTEGER_MIN, _INTEGER_MAX = -(1 << 31), (1 << 31) - 1
_POSITIVE = re.compile(r"[1-9][0-9]{0,9}\Z")

# Type system, String: no control characters, no surrogates, no noncharacters.
_FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
    + "]"
)
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d{1,6})\d*)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)\Z",
    re.ASCII,
)


def event_of(attributes: Mapping[str, Any], data: object) -> Event | Rejected:
    """The event of decoded attributes and data, or why there is none; nothing is ever filled in."""
    extensions: dict[str, str | int | bool] = {}
    for name, value in attributes.items():
        if name in STANDARD:
            rejected = _check_standard(name, value)
        else:
            rejected = _check_extension(name, value)
            extensions[name] = value
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
        extensions=extensions,
    )


def timestamp(text: str, name: str = "time") -> datetime | Rejected:
    """The UTC moment of an RFC 3339 text, cut to microseconds; a leap second reads as the microsecond before."""
    match = _RFC3339.match(text)
    if match is None:
        sentence = f"{name} must be RFC 3339 with an offset, like 2027-03-04T05:06:07Z"
        return Rejected("invalid_time", sentence, name)
    date, minutes, seconds, fraction, offset = match.groups()
    leap = seconds == "60"
    written = f"{date}T{minutes}:{'59' if leap else seconds}"
    try:
        moment = datetime.fromisoformat(written + ("+00:00" if offset in "Zz" else offset)).astimezone(UTC)
    except (ValueError, OverflowError):
        return Rejected("invalid_time", f"{name} names no moment of the calendar: {text[:40]}", name)
    if leap and not _ends_a_month(moment):
        return Rejected("invalid_time", f"{name} has a leap second, which only ends a month in UTC", name)
    return moment + timedelta(microseconds=999_999 if leap else int((fraction or "").ljust(6, "0")))


def _ends_a_month(moment: datetime) -> bool:
    """Whether this is the last minute of a month: leap seconds stand nowhere else (RFC 3339, 5.7)."""
    last = calendar.monthrange(moment.year, moment.month)[1]
    return (moment.day, moment.hour, moment.minute) == (last, 23, 59)


def _check_standard(name: str, value: object) -> Rejected | None:
    if not isinstance(value, str):
        return Rejected("invalid_attribute_type", f"{name} must be a string", name)
    if not value:
        return Rejected("invalid_attribute_value", f"{name} must not be empty", name)
    if not _is_allowed(value):
        return _forbidden(name)
    if name == "source" and not uri.is_reference(value):
        return Rejected("invalid_attribute_value", "source must be a URI reference", name)
    if name == "dataschema" and not uri.is_uri(value):
        return Rejected("invalid_attribute_value", "dataschema must be an absolute URI", name)
    if name == "datacontenttype" and media_type.parse(value) is None:
        return Rejected("invalid_attribute_value", "datacontenttype must be a media type", name)
    return None


def _check_extension(name: str, value: object) -> Rejected | None:
    if name in _RESERVED:
        return Rejected("invalid_attribute_name", f"{name} is no attribute", name)
    if _NAME.match(name) is None:
        return Rejected("invalid_attribute_name", f"{name!r} must be lower-case letters and digits", name)
    if isinstance(value, str):
        if not _is_allowed(value):
            return _forbidden(name)
    elif isinstance(value, int):  # a boolean is one of these
        if not _INTEGER_MIN <= value <= _INTEGER_MAX:
            return Rejected("invalid_attribute_value", f"{name} must fit 32 bits; send it as a string", name)
    else:
        return Rejected("invalid_attribute_type", f"{name} must be a string, an integer or a boolean", name)
    check = _DOCUMENTED.get(name)
    return None if check is None else check(name, value)


def _is_allowed(text: str) -> bool:
    return (text.isascii() and text.isprintable()) or _FORBIDDEN.search(text) is None


def _forbidden(name: str) -> Rejected:
    return Rejected("invalid_attribute_value", f"{name} has a character that CloudEvents forbids", name)


def _not_empty(name: str, value: str | int | bool) -> Rejected | None:
    if value != "":
        return None
    return Rejected("invalid_attribute_value", f"{name} must not be empty", name)


def _a_timestamp(name: str, value: str | int | bool) -> Rejected | None:
    if not isinstance(value, str):
        return Rejected("invalid_attribute_type", f"{name} must be a string", name)
    moment = timestamp(value, name)
    return moment if isinstance(moment, Rejected) else None


def _a_reference(name: str, value: str | int | bool) -> Rejected | None:
    if isinstance(value, str) and uri.is_reference(value):
        return None
    return Rejected("invalid_attribute_value", f"{name} must be a URI reference", name)


def _positive(name: str, value: str | int | bool) -> Rejected | None:
    if not isinstance(value, bool) and _POSITIVE.match(str(value)) and int(value) <= _INTEGER_MAX:
        return None
    return Rejected("invalid_attribute_value", f"{name} must be an integer greater than zero", name)


_DOCUMENTED: Mapping[str, Callable[[str, str | int | bool], Rejected | None]] = {
    "causationid": _not_empty,
    "correlationid": _not_empty,
    "dataref": _a_reference,
    "expirytime": _a_timestamp,
    "partitionkey": _not_empty,
    "recordedtime": _a_timestamp,
    "sampledrate": _positive,
    "sequence": _not_empty,
}
"""What the documented extensions demand of their own values; a malformed trace context is ignored instead (W3C)."""
