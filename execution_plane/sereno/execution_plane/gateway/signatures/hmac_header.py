"""Generic HMAC: a header of the declared name, an optional prefix, the HMAC-SHA256 of the raw body in hex or base64."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from sereno.execution_plane.gateway.headers import Headers, single
from sereno.execution_plane.gateway.signatures.mac import digests, matches_any

Encoding = Literal["hex", "base64"]


@dataclass(frozen=True, slots=True)
class HmacHeader:
    """One sender's way of putting an HMAC-SHA256 of the body into a header."""

    header: str
    prefix: str = ""
    encoding: Encoding = "hex"

    name: ClassVar[str] = "hmac"
    signs_time: ClassVar[bool] = False

    def verify(self, headers: Headers, body: bytes, secrets: Sequence[bytes]) -> bool:
        """See `Scheme.verify`; hex is compared in lower case, as both spellings are in use."""
        expected = [self._spell(digest) for digest in digests(body, secrets)]
        return matches_any(self._claimed(headers), expected)

    def _spell(self, digest: bytes) -> bytes:
        return digest.hex().encode() if self.encoding == "hex" else base64.b64encode(digest)

    def _claimed(self, headers: Headers) -> bytes | None:
        value = single(headers, self.header.lower())
        if value is None or not value.startswith(self.prefix):
            return None
        bare = value[len(self.prefix) :]
        return (bare.lower() if self.encoding == "hex" else bare).encode("utf-8", "replace")
