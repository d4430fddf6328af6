"""How a push proves where it comes from: a Standard Webhooks signature, or a bearer token."""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "whsec_"
MIN_KEY_BYTES, MAX_KEY_BYTES = 24, 64
MAX_SECRETS = 2


def resolve(reference: str, environment: Mapping[str, str] = os.environ) -> str:
    """The secret behind `env:NAME` or `file:PATH`. Raises ValueError when there is none or it is blank."""
    kind, _, place = reference.partition(":")
    match kind:
        case "env":
            value = environment.get(place, "")
        case "file":
            try:
                value = Path(place).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as fault:
                raise ValueError(f"{reference} cannot be read: {type(fault).__name__}") from fault
        case _:
            # What was given instead may be the secret itself.
            raise ValueError("expected env:NAME or file:PATH, where the secret stands")
    if not value.strip():
        raise ValueError(f"{reference} names nothing, or something blank")
    return value.strip()


@dataclass(frozen=True, slots=True)
class Signature:
    """Standard Webhooks 1.0, symmetric: HMAC-SHA256 over id, timestamp and body, one for each active key."""

    keys: Sequence[bytes] = field(repr=False)

    @classmethod
    def of(cls, secrets: Sequence[str]) -> "Signature":
        """From one secret, or two while one is being replaced, each `whsec_` and base64 of 24 to 64 bytes.

        Raises ValueError that does not show the secret.
        """
        if not 1 <= len(secrets) <= MAX_SECRETS:
            raise ValueError(f"expected 1 or {MAX_SECRETS} secrets, got {len(secrets)}")
        return cls(tuple(map(_key, secrets)))

    def headers(self, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
        """`webhook-signature` for a body that is sent at `timestamp` (Unix seconds)."""
        signed = b".".join((delivery_id.encode(), str(timestamp).encode(), body))
        seals = (hmac.digest(key, signed, hashlib.sha256) for key in self.keys)
        return {"webhook-signature": " ".join(f"v1,{base64.b64encode(seal).decode()}" for seal in seals)}


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as fault:
        raise ValueError(f"expected a secret of {PREFIX} and base64") from fault
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise ValueError(f"expected a secret of {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes, got {len(key)}")
    return key


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token that the agent knows, in `Authorization`."""

    token: str = field(repr=False)

    def headers(self, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:  # noqa: ARG002 - one shape
        """`Authorization`."""
        return {"Authorization": f"Bearer {self.token}"}


Credentials = Signature | Bearer
