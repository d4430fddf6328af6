"""Shopify: `X-Shopify-Hmac-SHA256`, the base64 HMAC-SHA256 of the raw body under the app's client secret.

Source: shopify.dev, "Verify webhook deliveries". Webhook id, event id and topic are outside the signature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures.mac import base64_text, claimed_bytes, digests, matches_any
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified

HEADER = "x-shopify-hmac-sha256"


@dataclass(frozen=True, slots=True)
class Shopify:
    """The scheme of Shopify."""

    name: ClassVar[str] = "shopify"
    signs_time: ClassVar[bool] = False

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        expected = base64_text(digests(request.body, secrets))
        claimed = single(request.headers, HEADER)
        if matches_any(claimed_bytes(claimed), expected):
            return Verified()
        return Failed("signature_missing" if claimed is None else "signature_mismatch")
