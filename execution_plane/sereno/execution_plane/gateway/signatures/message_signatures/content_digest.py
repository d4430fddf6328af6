"""Content digests (RFC 9530): the hash of the body in a header, which a signature can then cover."""

import hashlib
import hmac
from collections.abc import Mapping

from sereno.execution_plane.gateway.signatures.message_signatures import structured
from sereno.execution_plane.gateway.signatures.message_signatures.components import field_value
from sereno.execution_plane.gateway.signatures.message_signatures.structured import Item
from sereno.execution_plane.gateway.signatures.scheme import Reason, Request

HEADER = "content-digest"
ALGORITHMS: Mapping[str, str] = {"sha-256": "sha256", "sha-512": "sha512"}
"""The active ones; what the registry calls deprecated proves nothing and is passed over."""


def objection(request: Request, member: str | None = None) -> Reason | None:
    """Why the digest does not prove the body, or None when each of its known algorithms does.

    `member`, when given, is the only algorithm that counts: the one that a signature covers.
    """
    text = field_value(HEADER, request)
    if text is None:
        return "digest_missing"
    found = structured.dictionary(text)
    if found is None:
        return "digest_malformed"
    known = {name: value for name, value in found.items() if name in ALGORITHMS}
    if not known or (member is not None and member not in known):
        return "digest_missing"
    for name, stated in known.items():
        if not isinstance(stated, Item) or not isinstance(stated.value, bytes):
            return "digest_malformed"
        if not hmac.compare_digest(stated.value, hashlib.new(ALGORITHMS[name], request.body).digest()):
            return "digest_mismatch"
    return None
