"""The dedup key of a request from what its signature covers (contract, 3.1).

The event id inside the signed body beats the signed id of the delivery, which beats the hash of what was signed: a
sender that tries again may give the same event a new delivery id. What no signature covers is never a key.
"""

import hashlib

from sereno.envelope import dedup_key
from sereno.envelope.decode import decode_http
from sereno.envelope.rejection import Rejected
from sereno.execution_plane.gateway import body, event_id
from sereno.execution_plane.gateway.signatures.scheme import Request, Verified


def body_hash(request: Request, verified: Verified) -> str:
    """The SHA-256 (hex) of the body, or of what was signed where one body has several spellings."""
    return hashlib.sha256(request.body if verified.content is None else verified.content).hexdigest()


def of(scheme: str, request: Request, verified: Verified) -> str:
    """The key of an authentic request with one event; a batch of events is known by its body."""
    content = body.content_of(request.headers)
    if content is not None and content.essence == "application/cloudevents+json":
        decoded = decode_http(request.headers, request.body, max_bytes=max(len(request.body), 1))
        if not isinstance(decoded, Rejected):
            return dedup_key.of_event(decoded.events[0].source, decoded.events[0].id)
    return of_document(scheme, body.read(content, request.body), request, verified)


def of_document(
    scheme: str, document: body.Document | Rejected | None, request: Request, verified: Verified
) -> str:
    """The key of a body that was read already."""
    found = event_id.of(scheme, document.fields) if isinstance(document, body.Document) else None
    if found is not None:
        return dedup_key.of_event(scheme, found)
    if verified.delivery_id is not None:
        return dedup_key.of_delivery(verified.delivery_id)
    return dedup_key.of_body(body_hash(request, verified))
