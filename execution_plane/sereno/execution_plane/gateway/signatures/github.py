"""GitHub: `X-Hub-Signature-256: sha256=` and the lower-case hex HMAC-SHA256 of the raw body.

Source: docs.github.com, "Validating webhook deliveries". The older SHA-1 header is never accepted. Neither the
delivery id nor the event name is covered by the signature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import Headers, single
from sereno.execution_plane.gateway.signatures.mac import digests, matches_any

HEADER = "x-hub-signature-256"


@dataclass(frozen=True, slots=True)
class GitHub:
    """The scheme of GitHub and of what speaks like it."""

    name: ClassVar[str] = "github"
    signs_time: ClassVar[bool] = False

    def verify(self, headers: Headers, body: bytes, secrets: Sequence[bytes]) -> bool:
        """See `Scheme.verify`."""
        expected = [b"sha256=" + digest.hex().encode() for digest in digests(body, secrets)]
        claimed = single(headers, HEADER)
        return matches_any(None if claimed is None else claimed.encode("utf-8", "replace"), expected)
