"""Keyed digests compared without telling by their duration where two values differ."""

import base64
import hmac
from collections.abc import Iterable, Sequence

SHA256 = "sha256"


def digests(content: bytes, secrets: Iterable[bytes], algorithm: str = SHA256) -> list[bytes]:
    """The HMAC of the content under each secret."""
    return [hmac.digest(secret, content, algorithm) for secret in secrets]


def hexadecimal(found: Sequence[bytes], prefix: bytes = b"") -> list[bytes]:
    """Digests in lower-case hexadecimal digits."""
    return [prefix + digest.hex().encode() for digest in found]


def base64_text(found: Sequence[bytes]) -> list[bytes]:
    """Digests in base64 with padding, the standard alphabet."""
    return [base64.b64encode(digest) for digest in found]


def matches_any(claimed: Sequence[bytes], expected: Sequence[bytes]) -> bool:
    """Whether a claimed value equals an expected one; every pair is compared, also after a match."""
    given = claimed or (b"",)
    found = [hmac.compare_digest(mine, one) for one in given for mine in expected]
    return bool(claimed) and any(found)


def claimed_bytes(value: str | None) -> tuple[bytes, ...]:
    """The value of a header as bytes to compare; none where it is missing, whatever characters it has."""
    return () if value is None else (value.encode("utf-8", "surrogatepass"),)
