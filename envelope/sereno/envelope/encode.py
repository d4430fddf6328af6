"""Encoding: the CloudEvents JSON format, its batch, and the headers of HTTP and NATS messages."""

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from operator import attrgetter
from urllib.parse import quote, unquote

import orjson

from sereno.envelope import media_type
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import NULL, SPECVERSION, Event

MEDIA_TYPE = "application/cloudevents+json"
BATCH_MEDIA_TYPE = "application/cloudevents-batch+json"

_OPTIONAL_OURS = (
    "causationid",
    "actor",
    "actorid",
    "onbehalfof",
    "sensitivity",
    "dataref",
    "traceparent",
    "tracestate",
)
_optional_ours = attrgetter(*_OPTIONAL_OURS)
# Binding, 3.1.3.2: printable ASCII travels as it is, but for space, double quote and percent.
_ABSENT = object()
_HEADER_SAFE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


def rfc3339(moment: datetime) -> str:
    """The moment in UTC as RFC 3339 text, at most microseconds, ending in Z."""
    return in_utc(moment).isoformat()[:-6] + "Z"


def in_utc(moment: datetime) -> datetime:
    """The same moment with the zone UTC, most often itself."""
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def flat(event: Event) -> dict[str, object]:
    """The CloudEvents JSON object of an event or envelope; absent attributes are left out."""
    document: dict[str, object] = {
        "specversion": SPECVERSION,
        "id": event.id,
        "source": event.source,
        "type": event.type,
    }
    if event.time is not None:
        document["time"] = rfc3339(event.time)
    if event.subject is not None:
        document["subject"] = event.subject
    if event.datacontenttype is not None:
        document["datacontenttype"] = event.datacontenttype
    if event.dataschema is not None:
        document["dataschema"] = event.dataschema
    if event.extensions:
        document.update(event.extensions)
    if isinstance(event, Envelope):
        _add_ours(document, event)
    if isinstance(event.data, bytes):
        document["data_base64"] = b64encode(event.data).decode("ascii")
    elif event.data is not None:
        document["data"] = None if event.data is NULL else event.data
    return document


def _add_ours(document: dict[str, object], envelope: Envelope) -> None:
    document["receiptid"] = envelope.receiptid
    document["tenantid"] = envelope.tenantid
    document["origin"] = envelope.origin
    document["dedupkey"] = envelope.dedupkey
    document["correlationid"] = envelope.correlationid
    document["hops"] = envelope.hops
    document["trust"] = envelope.trust
    document["recordedtime"] = rfc3339(envelope.recordedtime)
    optional = zip(_OPTIONAL_OURS, _optional_ours(envelope), strict=True)
    document.update([pair for pair in optional if pair[1] is not None])
    if envelope.outside:
        document["outside"] = orjson.dumps(envelope.outside).decode("utf-8")


def dumps(event: Event) -> bytes:
    """One event or envelope in the CloudEvents JSON format."""
    return orjson.dumps(flat(event))


def dumps_batch(events: Iterable[Event]) -> bytes:
    """Events or envelopes as one CloudEvents JSON batch."""
    return orjson.dumps([flat(event) for event in events])


def http_headers(event: Event) -> dict[str, str]:
    """The headers of a binary-mode HTTP message, whose body is `body(event)` (HTTP binding 1.0.2, 3.1)."""
    headers = nats_headers(event)
    content_type = headers.pop("ce-datacontenttype", None)
    return headers if content_type is None else headers | {"content-type": unquote(content_type)}


def nats_headers(event: Event) -> dict[str, str]:
    """The `ce-` headers of a binary-mode NATS message, whose payload is `body(event)` (NATS binding 1.0.2, 3.1).

    Unlike in HTTP the content type is one of them; JSON that the JSON format implied is said here (format, 3.1.2).
    """
    attributes = flat(event)
    attributes.pop("data_base64", None)
    if attributes.pop("data", _ABSENT) is not _ABSENT:
        attributes.setdefault("datacontenttype", "application/json")
    return {f"ce-{name}": quote(_canonical(value), safe=_HEADER_SAFE) for name, value in attributes.items()}


def body(event: Event) -> bytes:
    """The payload of a binary-mode message: the data as its content type says it."""
    if event.data is None:
        return b""
    if isinstance(event.data, bytes):
        return event.data
    content = None if event.datacontenttype is None else media_type.parse(event.datacontenttype)
    if isinstance(event.data, str) and content is not None and not content.is_json:
        return event.data.encode("utf-8")
    return orjson.dumps(None if event.data is NULL else event.data)


def _canonical(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
