"""From an authenticated request to what happened: one occurrence for each event in the body.

Only the body is signed by the schemes that exist, so nothing from a header reaches type, source, subject or key.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sereno.envelope import dedup_key, media_type
from sereno.envelope.decode import Decoded, decode_http
from sereno.envelope.event import NULL, Event
from sereno.envelope.rejection import Rejected
from sereno.envelope.strict_json import parse
from sereno.envelope.types import WEBHOOK_RECEIVED
from sereno.execution_plane import outside
from sereno.execution_plane.gateway import github_event
from sereno.execution_plane.gateway.headers import Headers, single

_DELIVERY_ID_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event of a request, its dedup key and what is noted beside it."""

    event: Event
    dedupkey: str
    actor: str | None = None
    notes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A body in a format that is not understood; the sentence says which is expected."""

    message: str


def read(
    scheme: Literal["github", "hmac"], origin: str, headers: Headers, body: bytes, *, fresh_id: str
) -> tuple[Occurrence, ...] | Rejected | Unsupported:
    """The occurrences of a signed body; `fresh_id` names an event whose sender gave it no id."""
    content_type = single(headers, "content-type")
    content = media_type.parse(content_type) if content_type else None
    if (content is not None and content.essence.startswith("application/cloudevents")) or _has_ce_headers(
        headers
    ):
        return _cloudevents(origin, headers, body)
    if content is None or not content.is_json or not content.is_utf8:
        return Unsupported(
            f"Content-Type is {content_type or 'missing'}; expected application/json or CloudEvents"
        )
    document = parse(body, "data")
    if isinstance(document, Rejected):
        return document
    if scheme == "github":
        return _github(origin, headers, body, document)
    event = Event(
        id=fresh_id,
        source=origin,
        type=WEBHOOK_RECEIVED,
        datacontenttype="application/json",
        data=NULL if document is None else document,
    )
    return (Occurrence(event, dedup_key.of_body(_sha256(body))),)


def _has_ce_headers(headers: Headers) -> bool:
    return any(name.startswith("ce-") for name, _ in headers)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _github(
    origin: str, headers: Headers, body: bytes, document: object
) -> tuple[Occurrence, ...] | Rejected:
    if not isinstance(document, Mapping):
        return Rejected("invalid_data", "the body of a GitHub webhook is a JSON object", "data")
    body_hash = _sha256(body)
    claimed = single(headers, "x-github-event")
    delivery = _delivery_id(single(headers, "x-github-delivery"))
    event = github_event.read(
        document, claimed_event=claimed, event_id=delivery or body_hash, fallback_source=origin
    )
    notes: dict[str, object] = {outside.BODY_SHA256: body_hash}
    if delivery is not None:
        notes[outside.DELIVERY_ID] = delivery
    if claimed is not None and event.type == WEBHOOK_RECEIVED:
        notes[outside.CLAIMED] = {"x-github-event": claimed}
    return (Occurrence(event, dedup_key.of_body(body_hash), github_event.actor(document), notes),)


def _delivery_id(value: str | None) -> str | None:
    usable = (
        value is not None and value.isascii() and value.isprintable() and 0 < len(value) <= _DELIVERY_ID_LIMIT
    )
    return value if usable else None


def _cloudevents(origin: str, headers: Headers, body: bytes) -> tuple[Occurrence, ...] | Rejected:
    decoded = decode_http(headers, body, max_bytes=max(len(body), 1))
    if isinstance(decoded, Rejected):
        return decoded
    if decoded.mode == "binary":
        return (_unsigned_attributes(origin, decoded.events[0], body),)
    return tuple(_signed_event(decoded, place, body) for place in range(len(decoded.events)))


def _signed_event(decoded: Decoded, place: int, body: bytes) -> Occurrence:
    event = decoded.events[place]
    body_hash = _sha256(body)
    if decoded.mode == "batch":
        body_hash = _sha256(f"{body_hash}#{place}".encode())
    notes: dict[str, object] = {outside.BODY_SHA256: body_hash}
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
