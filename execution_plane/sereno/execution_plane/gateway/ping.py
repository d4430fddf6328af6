"""What a sender asks before it sends anything: it wants an answer at once, and nothing has happened."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sereno.envelope.strict_json import parse
from sereno.execution_plane.gateway.signatures.scheme import Request

# A question is short; a larger body is an event.
_LARGEST = 4096
_PING = 0
_INTERACTION_PING = 1


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a signed question, and what kind it was."""

    reason: str
    status: int
    body: bytes = b""
    media_type: str | None = None


def answer(scheme: str, request: Request) -> Answered | None:
    """The answer to a signed body that is such a question; None where it is an event."""
    asks = _ASKERS.get(scheme)
    if asks is None or len(request.body) > _LARGEST:
        return None
    found = parse(request.body, "data")
    return asks(found) if isinstance(found, Mapping) else None


def _slack(body: Mapping[str, object]) -> Answered | None:
    """`url_verification` (docs.slack.dev): the challenge comes back as plain text."""
    challenge = body.get("challenge")
    if body.get("type") != "url_verification" or not isinstance(challenge, str):
        return None
    return Answered("url_verification", 200, challenge.encode("utf-8", "replace"), "text/plain")


def _discord(body: Mapping[str, object]) -> Answered | None:
    """PING of webhook events (type 0) wants 204 without a body; PING of interactions (type 1) its like."""
    kind = body.get("type")
    if "event" in body or isinstance(kind, bool):
        return None
    if kind == _PING:
        return Answered("ping", 204)
    return Answered("ping", 200, b'{"type":1}', "application/json") if kind == _INTERACTION_PING else None


_ASKERS: Mapping[str, Callable[[Mapping[str, object]], Answered | None]] = {
    "slack": _slack,
    "discord": _discord,
}
