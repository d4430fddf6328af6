"""A signed manifest as it lies in the bucket: whole, or, when it is too large for one message, in parts.

The value under the manifest's key then lists the SHA-256 of each part, and the parts lie with the objects, under
their hashes. Nothing here is trusted: the signature is checked on the whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from sereno.subscriptions.snapshot import Refusal, sha256

PART_BYTES = 900_000
"""The payload limit of NATS is 1 MiB by default."""
_PARTS = "parts"


@dataclass(frozen=True, slots=True)
class Written:
    """What lies under the manifest's key, and the parts that it lists, by hash."""

    value: bytes
    parts: Mapping[str, bytes]


def split(signed: bytes) -> Written:
    """How a signed manifest is written."""
    if len(signed) <= PART_BYTES:
        return Written(signed, {})
    pieces = [signed[start : start + PART_BYTES] for start in range(0, len(signed), PART_BYTES)]
    hashes = [sha256(piece) for piece in pieces]
    return Written(orjson.dumps({_PARTS: hashes}), dict(zip(hashes, pieces, strict=True)))


def listed(value: bytes) -> Sequence[str]:
    """The hashes of the parts, in order; none when the value is the manifest itself, or nothing that can be read."""
    try:
        hashes = orjson.loads(value)[_PARTS]
    except (orjson.JSONDecodeError, KeyError, TypeError, IndexError):
        return ()
    return tuple(map(str, hashes)) if isinstance(hashes, list) else ()


def join(value: bytes, parts: Mapping[str, bytes]) -> bytes | Refusal:
    """The signed manifest, or which part is missing or false."""
    hashes = listed(value)
    for number, name in enumerate(hashes, start=1):
        if name not in parts or sha256(parts[name]) != name:
            return Refusal("bad_hash", f"part {number} of {len(hashes)} of the manifest is not in the bucket")
    return b"".join(parts[name] for name in hashes) if hashes else value
