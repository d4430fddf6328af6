"""Strict decoding of CloudEvents 1.0.2 from HTTP and NATS messages; never mints an id or a time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sereno.envelope import json_format, media_type, strict_json
from sereno.envelope.attributes import event_of
from sereno.envelope.event import NULL, Event
from sereno.envelope.media_type import MediaType
from sereno.envelope.rejection import Rejected
from sereno.envelope.stored import loads_batch, loads_envelope

__all__ = [
    "MAX_BYTES",
    "Decoded",
    "Mode",
    "Rejected",
    "decode_http",
    "decode_nats",
    "loads_batch",
    "loads_envelope",
]

Mode = Literal["structured", "binary", "batch"]
Headers = Sequence[tuple[str, str]]
MAX_BYTES = 65_536

_FORMATS = "application/cloudevents"
_STRUCTURED = MediaType("application/cloudevents+json", None)
_PREFIX = "ce-"
_HEX = re.compile(r"%[0-9A-Fa-f]{2}")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*+)\"\Z")
_QUOTED_PAIR = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The events of one message, in order, and the content mode they came in; only a batch may hold none."""

    mode: Mode
    events: tuple[Event, ...]


def decode_http(headers: Headers, body: bytes, *, max_bytes: int = MAX_BYTES) -> Decoded | Rejected:
    """The events of an HTTP message in structured, batch or binary mode (HTTP protocol binding 1.0.2).

    `max_bytes` bounds the data of each event. Rejection codes are stable; `too_large` answers 413 and
    `unsupported_media_type` 415.
    """
    content_type = _single(headers, "content-type")
    if isinstance(content_type, Rejected):
        return content_type
    parsed = None if content_type is None else media_type.parse(content_type)
    if content_type is not None and parsed is None:
        return Rejected("invalid_content_type", "Content-Type is not a media type", "datacontenttype")
    if parsed is not None and parsed.essence.startswith(_FORMATS):
        return _formatted(parsed, body, max_bytes)
    if any(name.lower() == "ce-datacontenttype" for name, _ in headers):
        message = "ce-datacontenttype must not be sent in binary mode; Content-Type says it"
        return Rejected("invalid_attribute_name", message, "datacontenttype")
    extra = {} if content_type is None else {"datacontenttype": content_type.strip()}
    return _binary(headers, extra, body, max_bytes)


def decode_nats(headers: Headers, body: bytes, *, max_bytes: int = MAX_BYTES) -> Decoded | Rejected:
    """The events of a NATS message (NATS protocol binding 1.0.2); without headers it is structured JSON."""
    content_type = _single(headers, "content-type")
    if isinstance(content_type, Rejected):
        return content_type
    parsed = _STRUCTURED if content_type is None and not headers else media_type.parse(content_type or "")
    if parsed is not None and parsed.essence.startswith(_FORMATS):
        return _formatted(parsed, body, max_bytes)
    return _binary(headers, {}, body, max_bytes)


def _formatted(content: MediaType, body: bytes, max_bytes: int) -> Decoded | Rejected:
    if not content.is_utf8:
        return Rejected(
            "unsupported_media_type", f"charset {content.charset} is not UTF-8", "datacontenttype"
        )
    if content.essence == "application/cloudevents+json":
        event = json_format.read_event(body, max_bytes)
        return event if isinstance(event, Rejected) else Decoded("structured", (event,))
    if content.essence == "application/cloudevents-batch+json":
        events = json_format.read_batch(body, max_bytes)
        return events if isinstance(events, Rejected) else Decoded("batch", events)
    return Rejected("unsupported_media_type", f"{content.essence} is not understood; send the JSON format")


def _binary(headers: Headers, extra: Mapping[str, str], body: bytes, max_bytes: int) -> Decoded | Rejected:
    attributes = dict(extra)
    for header, value in headers:
        name = header.lower()
        if not name.startswith(_PREFIX):
            continue
        name = name.removeprefix(_PREFIX)
        if name in attributes:
            return Rejected("duplicate_attribute", f"the header {header} is sent twice", name)
        decoded = header_value(name, value)
        if isinstance(decoded, Rejected):
            return decoded
        attributes[name] = decoded
    if len(attributes) == len(extra):
        return Rejected(
            "not_cloudevents", "the message has neither a CloudEvents content type nor ce- headers"
        )
    if len(body) > max_bytes:
        return json_format.too_large(max_bytes)
    event = event_of(attributes, None)
    if isinstance(event, Rejected):
        return event
    data = _body_data(event.datacontenttype, body)
    return data if isinstance(data, Rejected) else Decoded("binary", (replace(event, data=data),))


def _body_data(declared: str | None, body: bytes) -> object:
    """Parsed JSON, text, or the bytes themselves; an empty body is no data."""
    if not body:
        return None
    content = None if declared is None else media_type.parse(declared)
    if content is None or not content.is_utf8:
        return body
    if content.is_json:
        value = strict_json.parse(body, "data")
        return NULL if value is None else value
    if content.is_text:
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return body
    return body


def _single(headers: Headers, wanted: str) -> str | Rejected | None:
    values = [value for name, value in headers if name.lower() == wanted]
    if len(values) > 1:
        return Rejected("invalid_content_type", f"the header {wanted} is sent {len(values)} times")
    return values[0] if values else None


def header_value(name: str, written: str) -> str | Rejected:
    """The attribute of a header: unquote, then one round of percent-decoding (HTTP binding, 3.1.3.2)."""
    value = written.strip(" \t")
    if not value.isascii():
        return Rejected("invalid_header", f"the header ce-{name} must be percent-encoded", name)
    if value.startswith('"'):
        quoted = _QUOTED.match(value)
        if quoted is None:
            return Rejected(
                "invalid_header", f"the header ce-{name} opens a quoted string and never ends", name
            )
        value = _QUOTED_PAIR.sub(r"\1", quoted[1])
    if "%" not in value:
        return value
    if value.count("%") != len(_HEX.findall(value)):
        return Rejected(
            "invalid_header", f"the header ce-{name} has a % without two hexadecimal digits", name
        )
    octets = _HEX.sub(lambda match: chr(int(match[0][1:], 16)), value).encode("latin-1")
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return Rejected("invalid_header", f"the header ce-{name} is not percent-encoded UTF-8", name)
