"""GitHub: `X-Hub-Signature-256: sha256=` and the lower-case hex HMAC-SHA256 of the raw body.

Source: docs.github.com, "Validating webhook deliveries". The older SHA-1 header is never accepted. Neither the
delivery id nor the event name is covered by the signature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures.mac import claimed_bytes, digests, hexadecimal, matches_any
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified

HEADER = "x-hub-signature-256"


@dataclass(frozen=True, slots=True)
class GitHub:
    """The scheme of GitHub and of what speaks like it."""

    name: ClassVar[str] = "github"
    signs_time: ClassVar[bool] = False

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        expected = hexadecimal(digests(request.body, secrets), b"sha256=")
        claimed = single(request.headers, HEADER)
        if matches_any(claimed_bytes(claimed), expected):
            return Verified()
        return Failed("signature_missing" if claimed is None else "signature_mismatch")
