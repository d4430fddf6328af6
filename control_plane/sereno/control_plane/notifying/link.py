"""Links by which a person answers from anywhere: signed, bound to one principal and one thing, good once and for a while."""

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

VALIDITY = timedelta(hours=24)
LARGEST = 2_000
_CONTEXT = b"sereno answer link v1\0"


@dataclass(frozen=True, slots=True)
class Link:
    """What a link allows: to decide on `subject` (`apr_…` or `msg_…`) as this principal, in the text of this digest."""

    tenant: str
    subject: str
    digest: str
    principal: str
    expires: datetime
    nonce: str


def write(link: Link, key: Ed25519PrivateKey) -> str:
    """The link as one segment of a path."""
    expires = int(link.expires.timestamp())
    payload = orjson.dumps([link.tenant, link.subject, link.digest, link.principal, expires, link.nonce])
    return f"{_text(payload)}.{_text(key.sign(_CONTEXT + payload))}"


def read(text: str, key: Ed25519PrivateKey, now: datetime) -> Link | None:
    """What a link says; None for one that is none, is not ours, or has expired, whichever it is."""
    if len(text) > LARGEST:
        return None
    payload, _, signature = text.partition(".")
    try:
        written = _bytes(payload)
        key.public_key().verify(_bytes(signature), _CONTEXT + written)
        tenant, subject, digest, principal, expires, nonce = orjson.loads(written)
    except (InvalidSignature, ValueError, binascii.Error):
        return None
    link = Link(tenant, subject, digest, principal, datetime.fromtimestamp(expires, UTC), nonce)
    return link if now < link.expires else None


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
