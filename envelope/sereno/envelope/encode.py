"""Encoding: the CloudEvents JSON format, its batch, and NATS headers."""

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import quote

import orjson

from sereno.envelope.envelope import Envelope
from sereno.envelope.event import SPECVERSION, Event

MEDIA_TYPE = "application/cloudevents+json"
BATCH_MEDIA_TYPE = "application/cloudevents-batch+json"

_OPTIONAL = ("subject", "datacontenttype", "dataschema")
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
# Binding, 3.1.3.2: printable ASCII travels as it is, but for space, double quote and percent.
_HEADER_SAFE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


def rfc3339(moment: datetime) -> str:
    """The moment in UTC as RFC 3339 text, at most microseconds, ending in Z."""
    return moment.astimezone(UTC).isoformat()[:-6] + "Z"


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
    for name in _OPTIONAL:
        value = getattr(event, name)
        if value is not None:
            document[name] = value
    document.update(event.extensions)
    if isinstance(event, Envelope):
        _add_ours(document, event)
    if isinstance(event.data, bytes):
        document["data_base64"] = b64encode(event.data).decode("ascii")
    elif event.data is not None:
        document["data"] = event.data
    return document


def _add_ours(document: dict[str, object], envelope: Envelope) -> None:
    document["receiptid"] = envelope.receiptid
    document["tenantid"] = envelope.tenantid
    document["origin"] = envelope.origin
    document["recordedtime"] = rfc3339(envelope.recordedtime)
    document["dedupkey"] = envelope.dedupkey
    document["correlationid"] = envelope.correlationid
    document["hops"] = envelope.hops
    document["trust"] = envelope.trust
    for name in _OPTIONAL_OURS:
        value = getattr(envelope, name)
        if value is not None:
            document[name] = value
    if envelope.outside:
        document["outside"] = orjson.dumps(envelope.outside).decode("utf-8")


def dumps(event: Event) -> bytes:
    """One event or envelope in the CloudEvents JSON format."""
    return orjson.dumps(flat(event))


def dumps_batch(events: Iterable[Event]) -> bytes:
    """Events or envelopes as one CloudEvents JSON batch."""
    return orjson.dumps([flat(event) for event in events])


def nats_headers(event: Event) -> dict[str, str]:
    """The `ce-` headers of a binary-mode NATS message; unlike HTTP, the content type is one of them."""
    attributes = flat(event)
    attributes.pop("data", None)
    attributes.pop("data_base64", None)
    return {f"ce-{name}": quote(_canonical(value), safe=_HEADER_SAFE) for name, value in attributes.items()}


def _canonical(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
