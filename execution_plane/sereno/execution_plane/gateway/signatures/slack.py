"""Slack: `X-Slack-Signature: v0=` and the hex HMAC-SHA256 of `v0:`, timestamp, `:` and the raw body.

Source: docs.slack.dev, "Verifying requests from Slack".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures.mac import claimed_bytes, digests, hexadecimal, matches_any
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified
from sereno.execution_plane.gateway.signatures.timestamp import seconds

HEADER = "x-slack-signature"
TIMESTAMP = "x-slack-request-timestamp"


@dataclass(frozen=True, slots=True)
class Slack:
    """The scheme of Slack, version 0."""

    name: ClassVar[str] = "slack"
    signs_time: ClassVar[bool] = True

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        written = single(request.headers, TIMESTAMP)
        moment = seconds(written)
        content = f"v0:{written if moment is not None else ''}:".encode() + request.body
        claimed = single(request.headers, HEADER)
        matched = matches_any(claimed_bytes(claimed), hexadecimal(digests(content, secrets), b"v0="))
        if claimed is None:
            return Failed("signature_missing")
        if moment is None:
            return Failed("timestamp_missing" if written is None else "timestamp_malformed")
        if not matched:
            return Failed("signature_mismatch")
        return Verified(covered=frozenset({TIMESTAMP}), timestamp=moment)
