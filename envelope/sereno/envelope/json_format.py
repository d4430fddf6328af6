"""The CloudEvents JSON format 1.0.2: one event, and the batch."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import orjson

from sereno.envelope import media_type, strict_json
from sereno.envelope.attributes import event_of
from sereno.envelope.event import NULL, Event
from sereno.envelope.rejection import Rejected


def read_event(body: bytes, max_bytes: int) -> Event | Rejected:
    """The event of a structured body whose data is at most `max_bytes`."""
    document = strict_json.parse(body, "the event")
    return (
        document
        if isinstance(document, Rejected)
        else _element(document, max_bytes, oversize=len(body) > max_bytes)
    )


def read_batch(body: bytes, max_bytes: int) -> tuple[Event, ...] | Rejected:
    """The events of a batch, all or none; `max_bytes` bounds the data of each."""
    documents = strict_json.parse(body, "the batch")
    if isinstance(documents, Rejected):
        return documents
    if not isinstance(documents, list):
        return Rejected("invalid_batch", "a batch must be a JSON array of events")
    events: list[Event] = []
    for index, document in enumerate(documents):
        event = _element(document, max_bytes, oversize=len(body) > max_bytes)
        if isinstance(event, Rejected):
            return Rejected(event.code, f"element {index} of the batch: {event.message}", event.field)
        events.append(event)
    return tuple(events)


def event_of_object(document: Mapping[str, Any], size: int, max_bytes: int) -> Event | Rejected:
    """The event of the JSON object that `strict_json.parse` read from so many bytes; its data is at most `max_bytes`."""
    return _element(document, max_bytes, oversize=size > max_bytes)


def _element(document: object, max_bytes: int, *, oversize: bool) -> Event | Rejected:
    if not isinstance(document, dict):
        return Rejected("invalid_event", "an event must be a JSON object")
    # A null member is an attribute that is not set (JSON format, 2.2).
    attributes = {name: value for name, value in document.items() if value is not None}
    data = _data(attributes, null="data" in document)
    if isinstance(data, Rejected):
        return data
    if oversize and _size(data) > max_bytes:
        return too_large(max_bytes)
    if oversize and _size(attributes) > max_bytes:
        return Rejected("too_large", f"the attributes together must be at most {max_bytes} bytes")
    return event_of(attributes, data)


def too_large(max_bytes: int) -> Rejected:
    """The refusal of data beyond the limit; it is never cut."""
    return Rejected("too_large", f"data must be at most {max_bytes} bytes", "data")


def _data(attributes: dict[str, Any], *, null: bool) -> object:
    """Takes the data out of the members: parsed JSON, text, or the bytes of `data_base64`."""
    data, encoded = attributes.pop("data", NULL if null else None), attributes.pop("data_base64", None)
    if encoded is None:
        return _in_place(data, attributes)
    if data is not None:
        return Rejected("invalid_data", "data and data_base64 must not both be present", "data_base64")
    if not isinstance(encoded, str):
        return Rejected("invalid_data", "data_base64 must be a string", "data_base64")
    try:
        octets = b64decode(encoded, validate=True)
    except ValueError:
        return Rejected("invalid_data", "data_base64 is not base64", "data_base64")
    # One spelling for one value (RFC 4648, 3.5): stray padding or bits would let two receivers differ.
    if b64encode(octets) != encoded.encode("ascii"):
        return Rejected("invalid_data", "data_base64 is not canonical base64", "data_base64")
    return octets


def _in_place(data: object, attributes: Mapping[str, Any]) -> object:
    declared = attributes.get("datacontenttype")
    if data is None or isinstance(data, str) or not isinstance(declared, str):
        return data
    parsed = media_type.parse(declared)
    if parsed is None or parsed.is_json:
        return data
    return Rejected("invalid_data", f"data of {parsed.essence} must be a JSON string or data_base64", "data")


def _size(data: object) -> int:
    if data is None or data is NULL:
        return 0
    if isinstance(data, bytes):
        return len(data)
    return len(data.encode("utf-8")) if isinstance(data, str) else len(orjson.dumps(data))
