"""From an authenticated request to what happened: one occurrence for each event in the body.

Nothing that the signature does not cover reaches type, source, subject, actor or key.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from sereno.envelope import dedup_key
from sereno.envelope.attributes import event_of
from sereno.envelope.decode import Decoded, decode_http
from sereno.envelope.event import NULL, Event
from sereno.envelope.media_type import MediaType
from sereno.envelope.receipt import NO_NOTES
from sereno.envelope.rejection import Rejected
from sereno.envelope.strict_json import parse
from sereno.envelope.types import WEBHOOK_RECEIVED
from sereno.execution_plane import outside
from sereno.execution_plane.gateway import body as bodies
from sereno.execution_plane.gateway import github_event, natural_key, shopify_topic
from sereno.execution_plane.gateway.body import Document
from sereno.execution_plane.gateway.endpoint import Endpoint
from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.mapping import Reading
from sereno.execution_plane.gateway.signatures.scheme import Request, Verified

_DELIVERY_ID_LIMIT = 200
# Their signature dates nothing and their delivery ids are unsigned; a captured body would be new for ever.
_BODY_KEPT = frozenset({"github", "shopify", "twilio"})
_DELIVERY_HEADERS: Mapping[str, str] = {
    "github": "x-github-delivery",
    "shopify": "x-shopify-webhook-id",
    "twilio": "i-twilio-idempotency-token",
    "gitlab": "idempotency-key",
}
_TYPE_HEADERS: Mapping[str, str] = {
    "github": "x-github-event",
    "shopify": "x-shopify-topic",
    "gitlab": "x-gitlab-event",
}
_SENDS_FORMS = frozenset({"slack", "twilio"})
_CLOUDEVENTS = "application/cloudevents"


class Occurrence(NamedTuple):
    """One event of a request, its dedup key and what is noted beside it; `verified` is whether the actor is proven."""

    event: Event
    dedupkey: str
    actor: str | None = None
    notes: Mapping[str, object] = NO_NOTES
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A body in a format that is not understood; the sentence says which is expected, `header` what names it."""

    message: str
    header: str = "content-type"


Found = tuple[Occurrence, ...] | Rejected | Unsupported
FreshId = Callable[[], str]


def read(endpoint: Endpoint, request: Request, verified: Verified, *, fresh_id: FreshId) -> Found:
    """The occurrences of an authentic request; `fresh_id` names an event whose sender gave it no id."""
    coding = single(request.headers, "content-encoding")
    if coding is not None and coding.lower() != "identity":
        return Unsupported(f"Content-Encoding is {coding}; expected a body as it is", "content-encoding")
    content = bodies.content_of(request.headers)
    if (content is not None and content.essence.startswith(_CLOUDEVENTS)) or _has_ce_headers(request):
        return _cloudevents(endpoint.origin, request, verified)
    refused = _not_allowed(endpoint, content, request)
    if refused is not None:
        return refused
    document = bodies.read(content, request.body)
    if isinstance(document, Rejected):
        return document
    if document is None:
        return (_bytes(endpoint, request, verified, fresh_id),)
    if endpoint.preset == "github":
        return _github(endpoint, request, verified, document)
    return _mapped(endpoint, request, verified, document, fresh_id)


def _not_allowed(endpoint: Endpoint, content: MediaType | None, request: Request) -> Unsupported | None:
    if content is not None and _is_allowed(endpoint, content):
        return None
    given = single(request.headers, "content-type") or "missing or repeated"
    expected = ", ".join(sorted(endpoint.content_types)) or "application/json"
    return Unsupported(f"Content-Type is {given}; expected {expected} or CloudEvents")


def _is_allowed(endpoint: Endpoint, content: MediaType) -> bool:
    if endpoint.content_types:
        return content.essence in endpoint.content_types
    if content.is_json and content.is_utf8:
        return True
    return content.essence == bodies.FORM and endpoint.preset in _SENDS_FORMS


def _has_ce_headers(request: Request) -> bool:
    return any([name.startswith("ce-") for name, _ in request.headers])  # noqa: C419 - of few: a list is quicker


def _github(endpoint: Endpoint, request: Request, verified: Verified, document: Document) -> Found:
    if not isinstance(document.value, Mapping):
        return Rejected("invalid_data", "the body of a GitHub webhook is a JSON object", "data")
    body_hash = natural_key.body_hash(request, verified)
    notes = _notes(endpoint, request, verified, body_hash)
    delivery, claimed = notes.get(outside.DELIVERY_ID), single(request.headers, "x-github-event")
    event = github_event.read(
        document.value,
        claimed_event=claimed,
        event_id=str(delivery or body_hash),
        fallback_source=endpoint.origin,
    )
    actor = github_event.actor(document.value)
    if not endpoint.mapping.expressions and not endpoint.mapping.paths:
        if event.type != WEBHOOK_RECEIVED:
            notes.pop(outside.CLAIMED, None)
        return (Occurrence(event, dedup_key.of_body(body_hash), actor, notes),)
    reading = endpoint.mapping.read(document, _covered(request, verified))
    if not endpoint.mapping.cuts:
        reading = replace(reading, data=event.data)
    actor = reading.text("actor") or actor
    return _checked(endpoint, event, reading, actor, notes, dedup_key.of_body(body_hash))


def _mapped(
    endpoint: Endpoint, request: Request, verified: Verified, document: Document, fresh_id: FreshId
) -> Found:
    document = _unwrapped(endpoint, document)
    body_hash = natural_key.body_hash(request, verified)
    key = natural_key.of_document(endpoint.scheme.name, document, request, verified)
    notes = _notes(endpoint, request, verified, body_hash)
    reading = endpoint.mapping.read(document, _covered(request, verified))
    event = Event(
        id=verified.delivery_id or str(notes.get(outside.DELIVERY_ID) or fresh_id()),
        source=endpoint.origin,
        type=_unsigned_type(endpoint, request, document) or WEBHOOK_RECEIVED,
        datacontenttype="application/json",
        data=NULL if document.value is None else document.value,
    )
    return _checked(endpoint, event, reading, reading.text("actor"), notes, key)


def _checked(  # noqa: PLR0917 - all that was found out about one event
    endpoint: Endpoint, event: Event, reading: Reading, actor: str | None, notes: dict[str, object], key: str
) -> Found:
    """The event with what was read; a reading that is no valid attribute is noted and left out."""
    changed = {name: text for name in ("id", "source", "type", "subject") if (text := reading.text(name))}
    if changed.get("type", "").startswith("sereno."):
        # That family is the platform's own; from outside it would pass for a tick or a verdict of ours.
        notes[outside.CLAIMED] = {"type": changed.pop("type")}
    for name, text in list(changed.items()):
        attributes = {"specversion": "1.0", "id": "1", "source": "/", "type": "t"} | {name: text}
        if isinstance(event_of(attributes, None), Rejected):
            del changed[name]
    if reading.faults:
        notes[outside.MAPPING_FAULTS] = list(reading.faults)
    data = NULL if reading.data is None else reading.data
    extensions = {"object": text} if (text := reading.text("object")) else {}
    event = replace(event, **changed, data=data, extensions=extensions, time=reading.time or event.time)
    if event.type != WEBHOOK_RECEIVED and outside.CLAIMED in notes and "type" not in changed:
        del notes[outside.CLAIMED]
    own = reading.text("dedup_key") or reading.text("id")
    if own is not None:
        key = dedup_key.of_event(endpoint.scheme.name, own)
    if key.startswith("body:") and endpoint.preset not in _BODY_KEPT:
        # Without any id the same body may come again on purpose; its key counts in a shorter window.
        notes.pop(outside.BODY_SHA256, None)
    return (Occurrence(event, key, actor, notes, reading.verified),)


def _unwrapped(endpoint: Endpoint, document: Document) -> Document:
    """Slack's interactions put their JSON into the field `payload` of a form."""
    payload = document.fields.get("payload")
    if endpoint.preset != "slack" or not isinstance(payload, str):
        return document
    found = parse(payload.encode("utf-8", "replace"), "payload")
    return Document(found) if isinstance(found, Mapping) else document


def _bytes(endpoint: Endpoint, request: Request, verified: Verified, fresh_id: FreshId) -> Occurrence:
    """A body that is neither JSON nor a form, kept as its bytes."""
    key = natural_key.of_document(endpoint.scheme.name, None, request, verified)
    notes: dict[str, object] = {}
    if endpoint.preset in _BODY_KEPT:
        notes[outside.BODY_SHA256] = natural_key.body_hash(request, verified)
    event = Event(
        id=verified.delivery_id or fresh_id(),
        source=endpoint.origin,
        type=WEBHOOK_RECEIVED,
        datacontenttype=single(request.headers, "content-type"),
        data=request.body,
    )
    return Occurrence(event, key, None, notes)


def _notes(endpoint: Endpoint, request: Request, verified: Verified, body_hash: str) -> dict[str, object]:
    """What is kept beside the event: the body's hash where no time is signed, and what unsigned headers claim."""
    notes: dict[str, object] = {}
    if verified.timestamp is None:
        notes[outside.BODY_SHA256] = body_hash
    delivery = verified.delivery_id or _delivery_id(
        single(request.headers, _DELIVERY_HEADERS.get(endpoint.preset, ""))
    )
    if delivery is not None:
        notes[outside.DELIVERY_ID] = delivery
    header = _TYPE_HEADERS.get(endpoint.preset, "")
    claimed = single(request.headers, header)
    if claimed is not None and header not in verified.covered:
        notes[outside.CLAIMED] = {header: claimed}
    return notes


def _unsigned_type(endpoint: Endpoint, request: Request, document: Document) -> str | None:
    if endpoint.preset != "shopify":
        return None
    return shopify_topic.type_of(single(request.headers, _TYPE_HEADERS["shopify"]), document.fields)


def _covered(request: Request, verified: Verified) -> Mapping[str, str]:
    """The headers that the signature covers; one that stands twice is none."""
    found = {name: single(request.headers, name) for name in verified.covered}
    return {name: value for name, value in found.items() if value is not None}


def _delivery_id(value: str | None) -> str | None:
    usable = (
        value is not None and value.isascii() and value.isprintable() and 0 < len(value) <= _DELIVERY_ID_LIMIT
    )
    return value if usable else None


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _cloudevents(origin: str, request: Request, verified: Verified) -> Found:
    decoded = decode_http(request.headers, request.body, max_bytes=max(len(request.body), 1))
    if isinstance(decoded, Rejected):
        return decoded
    attributes = {name for name, _ in request.headers if name.startswith("ce-")}
    if decoded.mode == "binary" and not attributes <= verified.covered:
        return (_unsigned_attributes(origin, decoded.events[0], request.body),)
    dated = verified.timestamp is not None
    return tuple(
        _signed_event(decoded, place, request.body, dated=dated) for place in range(len(decoded.events))
    )


def _signed_event(decoded: Decoded, place: int, body: bytes, *, dated: bool) -> Occurrence:
    event = decoded.events[place]
    body_hash = _sha256(body)
    if decoded.mode == "batch":
        body_hash = _sha256(f"{body_hash}#{place}".encode())
    # Of a binary event the body alone is not the event: its attributes are signed beside it.
    keeps = not dated and decoded.mode != "binary"
    notes: dict[str, object] = {outside.BODY_SHA256: body_hash} if keeps else {}
    key = dedup_key.of_event(event.source, event.id)
    if event.type.startswith("sereno."):
        # That family is the platform's own; from outside it would pass for a tick or a verdict of ours.
        notes[outside.CLAIMED] = {"type": event.type}
        event = replace(event, type=WEBHOOK_RECEIVED)
    return Occurrence(event, key, None, notes)


def _unsigned_attributes(origin: str, event: Event, body: bytes) -> Occurrence:
    """A binary-mode event: its attributes are headers outside the signature, so they are noted and not believed."""
    claimed: dict[str, object] = {"id": event.id, "type": event.type, "source": event.source}
    if event.subject is not None:
        claimed["subject"] = event.subject
    body_hash = _sha256(body)
    believed = Event(
        id=event.id,
        source=origin,
        type=WEBHOOK_RECEIVED,
        datacontenttype=event.datacontenttype,
        data=event.data,
        extensions={
            name: event.extensions[name] for name in ("traceparent", "tracestate") if name in event.extensions
        },
    )
    notes = {outside.BODY_SHA256: body_hash, outside.DELIVERY_ID: event.id, outside.CLAIMED: claimed}
    return Occurrence(believed, dedup_key.of_body(body_hash), None, notes)
