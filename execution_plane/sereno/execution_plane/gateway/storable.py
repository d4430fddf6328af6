"""What of an event could not be stored behind the 202, so that the sender is told before (contract, 7)."""

from collections.abc import Iterator
from typing import Any

import orjson

from sereno.envelope.rejection import Rejected

LONGEST_ID = 2_048
"""Bytes of an event's id: it is looked up by an index, whose entries are limited."""
_NUL = "\0"
# As our encoder writes it; a text that quotes the escape holds this too, so a hit is looked at closely.
_ESCAPED_NUL = b"\\u0000"


def refusal(event_id: str, encoded: bytes) -> Rejected | None:
    """Why an encoded envelope could not be stored, naming the member; None when it can."""
    if len(event_id.encode()) > LONGEST_ID:
        return Rejected("bad_input", f"id: expected at most {LONGEST_ID:,} bytes", "id")
    if _ESCAPED_NUL not in encoded:
        return None
    where = next(_holders(orjson.loads(encoded), ""), None)
    if where is None:
        return None
    return Rejected(
        "bad_input", f"{where}: expected text without the NUL character (U+0000), which cannot be kept", where
    )


def _holders(value: Any, path: str) -> Iterator[str]:
    """The paths of texts and member names with a NUL, in order; a name is shown up to its NUL."""
    if isinstance(value, str) and _NUL in value:
        yield path
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _holders(item, f"{path}[{position}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            if _NUL in name:
                yield below.partition(_NUL)[0]
            yield from _holders(item, below)
