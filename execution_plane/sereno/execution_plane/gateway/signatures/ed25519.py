"""Ed25519 over bytes (RFC 8032), and the plain scheme: the header `Signature` holds the hex signature of the body."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures import keys
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified

HEADER = "signature"
_SIGNATURE = re.compile(r"[0-9a-f]{128}\Z", re.ASCII)


def holds(secrets: Sequence[bytes], content: bytes, hexadecimal: str | None) -> Failed | None:
    """None when one of the public keys made the signature, given in lower-case hex; else why not."""
    public = [key for key in map(keys.ed25519, secrets) if key is not None]
    if hexadecimal is None:
        return Failed("signature_missing")
    if not public:
        return Failed("secret_malformed" if secrets else "secret_missing")
    if _SIGNATURE.match(hexadecimal) is None:
        return Failed("signature_malformed")
    signature = bytes.fromhex(hexadecimal)
    # Every key is tried, so that the duration does not tell which one is in use.
    matched = [is_signed(key, content, signature) for key in public]
    return None if any(matched) else Failed("signature_mismatch")


def is_signed(key: Ed25519PublicKey, content: bytes, signature: bytes) -> bool:
    """Whether the signature, 64 bytes, is that of the content."""
    try:
        key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Ed25519:
    """A sender that signs the raw body with an Ed25519 key and says nothing of the time."""

    name: ClassVar[str] = "ed25519"
    signs_time: ClassVar[bool] = False

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        return holds(secrets, request.body, single(request.headers, HEADER)) or Verified()
