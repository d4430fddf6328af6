"""Whether a request is authentic: its signature holds, covers the body, and is of now."""

from collections.abc import Sequence
from typing import Literal

from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Scheme, Verified

TOLERANCE_SECONDS = 300
Freshness = Literal["not_checked", "not_signed", "fresh", "too_old", "too_new", "expired"]


def authenticate(
    scheme: Scheme, request: Request, secrets: Sequence[bytes], now: float | None
) -> Verified | Failed:
    """What the request proves, or why it proves nothing; without `now` (seconds since 1970) no time is checked."""
    usable = [secret for secret in secrets if secret.strip()]
    found = scheme.verify(request, usable)
    if not usable:
        # Whoever knows the empty key could sign.
        return Failed("secret_missing")
    if isinstance(found, Failed):
        return found
    if not found.covers_body:
        return Failed("body_not_covered")
    if scheme.signs_time and found.timestamp is None:
        return Failed("timestamp_missing")
    age = freshness(found, now)
    if age in ("too_old", "too_new", "expired"):
        return Failed(age)
    return found


def freshness(found: Verified, now: float | None) -> Freshness:
    """How the signed time stands to `now`: at most 300 seconds before or after it is fresh."""
    if now is None:
        return "not_checked"
    if found.expires is not None and now > found.expires:
        return "expired"
    if found.timestamp is None:
        return "not_signed"
    if now - found.timestamp > TOLERANCE_SECONDS:
        return "too_old"
    return "too_new" if found.timestamp - now > TOLERANCE_SECONDS else "fresh"
