"""The one protocol that every signature scheme keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

from sereno.execution_plane.gateway.headers import Headers

Reason = Literal[
    "secret_missing",
    "secret_malformed",
    "signature_missing",
    "signature_malformed",
    "signature_mismatch",
    "timestamp_missing",
    "timestamp_malformed",
    "too_old",
    "too_new",
    "expired",
    "id_missing",
    "id_malformed",
    "body_not_covered",
    "digest_missing",
    "digest_malformed",
    "digest_mismatch",
    "component_missing",
    "component_unsupported",
    "component_not_covered",
    "algorithm_not_allowed",
    "tag_mismatch",
]
"""Why a request is not authentic. A header that stands twice counts as missing, since nobody knows which is meant."""


class Request(NamedTuple):
    """One request as its sender made it; `url` is the public one, which a few schemes sign."""

    headers: Headers
    body: bytes
    url: str = ""
    method: str = "POST"


class Verified(NamedTuple):
    """What a signature that holds vouches for: times in seconds since 1970, headers by lower-case name."""

    covered: frozenset[str] = frozenset()
    """The headers that the signature covers."""
    covers_body: bool = True
    timestamp: int | None = None
    expires: int | None = None
    delivery_id: str | None = None
    """The sender's id of this delivery, where it is signed."""
    content: bytes | None = None
    """What was signed instead of the raw body, where one body has several spellings under one signature."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that is not authentic."""

    reason: Reason


class Scheme(Protocol):
    """Answers whether the raw bytes of a request were signed with one of the active secrets."""

    name: ClassVar[str]
    signs_time: ClassVar[bool]
    """Whether the signature covers a timestamp; where it does not, a captured body stays valid for ever."""

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """Check the signature alone; the time is judged apart, by `judgement`. Never raises.

        The work is the same whatever the headers say: one keyed digest a secret, also where a header is missing.
        """
        ...
