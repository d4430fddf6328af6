"""Standard Webhooks: id, timestamp and raw body under HMAC-SHA256 (`v1`) or Ed25519 (`v1a`), and Svix alike.

Source: standard-webhooks/spec. The reference libraries verify no `v1a` and accept an id with a dot, under which two
different messages have one signed content; hence own code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sereno.execution_plane.gateway.headers import Headers, single
from sereno.execution_plane.gateway.signatures import keys
from sereno.execution_plane.gateway.signatures.ed25519 import is_signed
from sereno.execution_plane.gateway.signatures.mac import base64_text, claimed_bytes, digests, matches_any
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified
from sereno.execution_plane.gateway.signatures.timestamp import seconds

_SYMMETRIC, _PUBLIC = b"whsec_", b"whpk_"
_MOST_SIGNATURES = 16
_SIGNATURE_BYTES = 64
_LONGEST_ID = 256


@dataclass(frozen=True, slots=True)
class Signed:
    """The three headers of one message; a name that stands twice is missing."""

    prefix: str
    id: str | None
    timestamp: str | None
    signatures: str | None

    @classmethod
    def of(cls, headers: Headers, prefix: str) -> "Signed":
        """The headers under this prefix."""
        found = (single(headers, f"{prefix}-{name}") for name in ("id", "timestamp", "signature"))
        return cls(prefix, *found)

    @property
    def content(self) -> bytes:
        """What comes before the body in the signed content."""
        id_ = (self.id or "").encode("utf-8", "surrogatepass")
        return id_ + b"." + (self.timestamp or "").encode("utf-8", "surrogatepass") + b"."

    @property
    def fault(self) -> Failed | None:
        """What is wrong with the headers, whatever was signed."""
        if self.signatures is None:
            return Failed("signature_missing")
        if not self.id:
            return Failed("id_missing")
        if "." in self.id or len(self.id) > _LONGEST_ID or not (self.id.isascii() and self.id.isprintable()):
            return Failed("id_malformed")
        if seconds(self.timestamp) is None:
            return Failed("timestamp_missing" if self.timestamp is None else "timestamp_malformed")
        return Failed("signature_malformed") if len(self.signatures.split()) > _MOST_SIGNATURES else None

    def of_version(self, version: str) -> list[str]:
        """The signatures of one version, bounded in number; all other versions are passed over."""
        parts = [part.partition(",") for part in (self.signatures or "").split()[:_MOST_SIGNATURES]]
        return [text for name, _, text in parts if name == version]


def verify(request: Request, secrets: Sequence[bytes], prefix: str) -> Verified | Failed:
    """Check the message whose headers have this prefix."""
    signed = Signed.of(request.headers, prefix)
    content = signed.content + request.body
    symmetric = [key for key in map(_symmetric, secrets) if key]
    matched = _matches_v1(signed, content, symmetric)
    public = [key for key in map(_public, secrets) if key is not None]
    matched = _matches_v1a(signed, content, public) or matched
    if signed.fault is not None:
        return signed.fault
    if not symmetric and not public:
        return Failed("secret_malformed" if secrets else "secret_missing")
    if not matched:
        return Failed("signature_mismatch")
    covered = frozenset({f"{prefix}-id", f"{prefix}-timestamp"})
    return Verified(covered=covered, timestamp=seconds(signed.timestamp), delivery_id=signed.id)


def _matches_v1(signed: Signed, content: bytes, secrets: Sequence[bytes]) -> bool:
    claimed = [one for text in signed.of_version("v1") for one in claimed_bytes(text)]
    return matches_any(claimed, base64_text(digests(content, secrets)))


def _matches_v1a(signed: Signed, content: bytes, public: Sequence[Ed25519PublicKey]) -> bool:
    claimed = (
        [keys.base64_bytes(text) for text in signed.of_version("v1a") if text.isascii()] if public else []
    )
    usable = [one for one in claimed if one is not None and len(one) == _SIGNATURE_BYTES]
    held = [is_signed(key, content, one) for one in usable for key in public]
    return any(held)


def _symmetric(secret: bytes) -> bytes | None:
    text = secret.strip()
    return None if text.startswith(_PUBLIC) else keys.base64_bytes(text.removeprefix(_SYMMETRIC))


def _public(secret: bytes) -> Ed25519PublicKey | None:
    text = secret.strip()
    raw = keys.base64_bytes(text.removeprefix(_PUBLIC)) if text.startswith(_PUBLIC) else None
    return None if raw is None else keys.ed25519_of(raw)


@dataclass(frozen=True, slots=True)
class Standard:
    """The scheme of Standard Webhooks; a secret is `whsec_` and base64, or `whpk_` and a public key."""

    name: ClassVar[str] = "standard"
    signs_time: ClassVar[bool] = True

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        return verify(request, secrets, "webhook")


@dataclass(frozen=True, slots=True)
class Svix:
    """The same under `svix-` headers; a Svix without its brand sends those of Standard Webhooks."""

    name: ClassVar[str] = "svix"
    signs_time: ClassVar[bool] = True

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        branded = any(name.startswith("svix-") for name, _ in request.headers)
        return verify(request, secrets, "svix" if branded else "webhook")
