"""Bearer: the secret itself in `Authorization`, as CloudEvents HTTP webhooks 1.0 demands (3.1).

Nothing is signed; whoever has the token may say anything. So all headers count as much as the body.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures.mac import digests, matches_any
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified

HEADER = "authorization"


def is_secret(value: str | None, secrets: Sequence[bytes]) -> bool:
    """Whether a header's value is one of the secrets; compared by hash, so that not even the length is told."""
    given = [hashlib.sha256((value or "").encode("utf-8", "surrogatepass")).digest()]
    return matches_any(given, [hashlib.sha256(secret).digest() for secret in secrets]) and bool(value)


@dataclass(frozen=True, slots=True)
class Bearer:
    """A sender that shows a token."""

    name: ClassVar[str] = "bearer"
    signs_time: ClassVar[bool] = False

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        # As much work on the body as the schemes that sign it: an endpoint's scheme is nobody's business.
        digests(request.body, secrets)
        value = single(request.headers, HEADER)
        kind, _, token = (value or "").partition(" ")
        if is_secret(token.strip() if kind.lower() == "bearer" else None, secrets):
            return Verified(covered=frozenset(name for name, _ in request.headers))
        return Failed("signature_missing" if value is None else "signature_mismatch")
