"""Secrets of endpoints: made, sealed for the execution plane, and shown by reference or fingerprint alone."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from sereno.subscriptions import sealed

SECRET_BYTES = 32
_STANDARD = frozenset({"standard", "standard-webhooks", "svix"})
# Whoever signs with one of these takes the secret that we make; all others make it themselves.
MAKEABLE = _STANDARD | {"github", "gitlab", "hmac", "rfc9421", "bearer", "cloudevents"}
MOST = 2


@dataclass(frozen=True, slots=True)
class Kept:
    """A secret as the catalog keeps it; `shown` is the text that a person sees once, if it was made here."""

    reference: str
    shown: str | None = None


def make(scheme: str) -> str:
    """A new secret of 256 random bits in the spelling of a scheme."""
    if scheme in _STANDARD:
        return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    return secrets.token_urlsafe(SECRET_BYTES)


def seal(secret: str, recipient: X25519PublicKey, *, tenant: str, endpoint: str) -> str:
    """The secret as only the execution plane can open it, and for this endpoint alone."""
    once = X25519PrivateKey.generate()
    return sealed.seal(secret.encode(), recipient, once, bound_to=f"{tenant}/{endpoint}")


def shown(references: Sequence[str]) -> list[str]:
    """References as people see them; of a sealed secret its fingerprint."""
    return [
        f"sealed {sealed.fingerprint(one)}" if one.startswith(sealed.PREFIX) else one for one in references
    ]


def rotated(before: Sequence[str], new: str) -> list[str]:
    """The new secret, and the one that was in use: senders change over while both are accepted."""
    return [new, *before][:MOST]


def finished(before: Sequence[str]) -> list[str]:
    """The newest secret alone."""
    return list(before[:1])
