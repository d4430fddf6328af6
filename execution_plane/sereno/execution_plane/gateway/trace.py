"""The W3C trace context of a request: the sender's trace goes on, under a step of our own.

No span is made here: nothing exports spans yet, and one that nobody reads cost a tenth of a webhook.
"""

from collections.abc import Callable, Mapping

from sereno.envelope.trace_context import is_traceparent
from sereno.execution_plane.gateway.headers import Headers, single

_TRACE_ID = slice(3, 35)
_FLAGS = slice(53, 55)
_NOT_SAMPLED = "00"


def continued(headers: Headers, randomness: Callable[[int], bytes]) -> Mapping[str, str]:
    """The context to carry on; a missing or malformed one of the sender begins a new trace (W3C, 3.2 and 4)."""
    step = randomness(8).hex()
    parent = single(headers, "traceparent")
    if parent is None or not is_traceparent(parent):
        return {"traceparent": f"00-{randomness(16).hex()}-{step}-{_NOT_SAMPLED}"}
    context = {"traceparent": f"00-{parent[_TRACE_ID]}-{step}-{parent[_FLAGS]}"}
    state = single(headers, "tracestate")
    return context if not state else context | {"tracestate": state}
