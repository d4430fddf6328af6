"""The W3C trace context of a request: the sender's trace goes on, under a step of our own.

No span is made here: nothing exports spans yet, and one that nobody reads cost a tenth of a webhook.
"""

from collections.abc import Callable, Mapping

from sereno.envelope.trace_context import is_traceparent
from sereno.execution_plane.gateway.headers import Headers, single

_TRACE_ID = slice(3, 35)
_FLAGS = slice(53, 55)
_NOT_SAMPLED = "00"
_STEP_BYTES, _TRACE_BYTES = 8, 16


def continued(headers: Headers, randomness: Callable[[int], bytes]) -> Mapping[str, str]:
    """The context to carry on; a missing or malformed one of the sender begins a new trace (W3C, 3.2 and 4)."""
    digits = randomness(_STEP_BYTES + _TRACE_BYTES).hex()
    step, trace_id = digits[: 2 * _STEP_BYTES], digits[2 * _STEP_BYTES :]
    parent = single(headers, "traceparent")
    if parent is None or not is_traceparent(parent):
        return {"traceparent": f"00-{trace_id}-{step}-{_NOT_SAMPLED}"}
    context = {"traceparent": f"00-{parent[_TRACE_ID]}-{step}-{parent[_FLAGS]}"}
    state = single(headers, "tracestate")
    return context if not state else context | {"tracestate": state}
