"""W3C trace context, version 00: which values of `traceparent` may be followed."""

import re

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z")


def is_traceparent(text: str) -> bool:
    """Whether the text is a valid `traceparent`; an invalid one starts a new trace and rejects nothing."""
    return _TRACEPARENT.match(text) is not None
