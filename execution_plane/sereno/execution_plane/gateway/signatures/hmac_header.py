"""Generic HMAC: a header of the declared name, an optional prefix, the HMAC of the raw body in hex or base64."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures.mac import (
    base64_text,
    claimed_bytes,
    digests,
    hexadecimal,
    matches_any,
)
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified

DEFAULT_HEADER = "X-Signature-256"
Encoding = Literal["hex", "base64"]
Algorithm = Literal["sha1", "sha256", "sha384", "sha512"]


@dataclass(frozen=True, slots=True)
class HmacHeader:
    """One sender's way of putting an HMAC of the body into a header."""

    header: str = DEFAULT_HEADER
    prefix: str = ""
    encoding: Encoding = "hex"
    algorithm: Algorithm = "sha256"

    name: ClassVar[str] = "hmac"
    signs_time: ClassVar[bool] = False

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`; hex is compared in lower case, as both spellings are in use."""
        found = digests(request.body, secrets, self.algorithm)
        expected = hexadecimal(found) if self.encoding == "hex" else base64_text(found)
        value = single(request.headers, self.header.lower())
        if matches_any(claimed_bytes(self._bare(value)), expected):
            return Verified()
        return Failed("signature_missing" if value is None else "signature_mismatch")

    def _bare(self, value: str | None) -> str | None:
        if value is None or not value.startswith(self.prefix):
            return None
        bare = value[len(self.prefix) :]
        return bare.lower() if self.encoding == "hex" else bare
