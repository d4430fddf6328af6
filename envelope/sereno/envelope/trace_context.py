"""W3C trace context, version 00: which values of `traceparent` may be followed, and the places that follow from one."""

import re

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z")
_TRACE = slice(3, 35)
_SPAN = slice(36, 52)
_FLAGS = slice(53, 55)
_SAMPLED_DIGITS = frozenset("13579bdf")


def is_traceparent(text: str) -> bool:
    """Whether the text is a valid `traceparent`; an invalid one starts a new trace and rejects nothing."""
    return _TRACEPARENT.match(text) is not None


def is_sampled(traceparent: str) -> bool:
    """Whether the spans of this trace are kept (trace-flags, bit 0)."""
    return traceparent[-1] in _SAMPLED_DIGITS


def trace_of(traceparent: str) -> str:
    """The id of the trace, 32 hexadecimal digits."""
    return traceparent[_TRACE]


def span_of(traceparent: str) -> str:
    """The id of the span, 16 hexadecimal digits."""
    return traceparent[_SPAN]


def place(trace: str, span: str, *, sampled: bool) -> str:
    """The `traceparent` of a span: the ids of both as hexadecimal digits."""
    return f"00-{trace}-{span}-{'01' if sampled else '00'}"


def below(traceparent: str, span: str) -> str:
    """The place of another span of the same trace, with the same flags."""
    return f"00-{traceparent[_TRACE]}-{span}-{traceparent[_FLAGS]}"
