"""HMAC-SHA256 compared without telling by its duration where two values differ."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence


def digests(body: bytes, secrets: Iterable[bytes]) -> list[bytes]:
    """The HMAC-SHA256 of the raw body under each secret."""
    return [hmac.digest(secret, body, hashlib.sha256) for secret in secrets]


def matches_any(claimed: bytes | None, expected: Sequence[bytes]) -> bool:
    """Whether the claimed value equals one of the expected; every one is compared, also after a match."""
    given = claimed if claimed is not None else b""
    found = [hmac.compare_digest(given, one) for one in expected]
    return claimed is not None and any(found)
