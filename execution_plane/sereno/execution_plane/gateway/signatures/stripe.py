"""Stripe: `Stripe-Signature: t=…,v1=…` with the hex HMAC-SHA256 of timestamp, dot and raw body.

Source: docs.stripe.com, "Verify webhook signatures manually". While a secret is replaced there are several `v1`;
`v0` is a scheme for tests and, like every other, never looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures.mac import claimed_bytes, digests, hexadecimal, matches_any
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified
from sereno.execution_plane.gateway.signatures.timestamp import seconds

HEADER = "stripe-signature"
_MOST_PARTS = 32


@dataclass(frozen=True, slots=True)
class Stripe:
    """The scheme of Stripe."""

    name: ClassVar[str] = "stripe"
    signs_time: ClassVar[bool] = True

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`; the secret is used as it is written, with its `whsec_`."""
        value = single(request.headers, HEADER)
        parts = [part.partition("=") for part in (value or "").split(",")]
        times = [text for name, _, text in parts if name == "t"]
        claimed = [one for name, _, text in parts if name == "v1" for one in claimed_bytes(text)]
        moment = seconds(times[0]) if len(times) == 1 else None
        content = (times[0] if moment is not None else "").encode() + b"." + request.body
        matched = matches_any(claimed, hexadecimal(digests(content, secrets)))
        if value is None or not claimed:
            return Failed("signature_missing")
        if moment is None:
            return Failed("timestamp_malformed" if times else "timestamp_missing")
        if len(parts) > _MOST_PARTS:
            return Failed("signature_malformed")
        return Verified(timestamp=moment) if matched else Failed("signature_mismatch")
