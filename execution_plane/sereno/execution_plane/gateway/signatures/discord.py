"""Discord: the hex Ed25519 signature of timestamp and raw body under the application's public key.

Source: docs.discord.com, "Webhook Events". Discord sends wrong signatures on purpose and drops a receiver that
does not answer them with 401. No window is stated; the timestamp is signed, so the common one is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures import ed25519
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified
from sereno.execution_plane.gateway.signatures.timestamp import seconds

HEADER = "x-signature-ed25519"
TIMESTAMP = "x-signature-timestamp"


@dataclass(frozen=True, slots=True)
class Discord:
    """The scheme of Discord."""

    name: ClassVar[str] = "discord"
    signs_time: ClassVar[bool] = True

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        written = single(request.headers, TIMESTAMP)
        moment = seconds(written)
        content = (written if written is not None and moment is not None else "").encode() + request.body
        failed = ed25519.holds(secrets, content, single(request.headers, HEADER))
        if failed is not None and failed.reason in ("signature_missing", "secret_missing"):
            return failed
        if moment is None:
            return Failed("timestamp_missing" if written is None else "timestamp_malformed")
        return failed or Verified(covered=frozenset({TIMESTAMP}), timestamp=moment)
