"""The place of a request in its trace, and its spans, which are written down when it was answered.

Only an authentic request has a place: strangers shall not use up what of traces is kept.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from opentelemetry.trace import SpanKind

from sereno.envelope.event import Event
from sereno.envelope.trace_context import is_traceparent
from sereno.execution_plane.gateway.headers import Headers, single
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.engine import tracing

_NANOSECONDS = 1_000_000_000
_ROUTE = {names.HTTP_METHOD: "POST", names.HTTP_ROUTE: "/in/{endpoint_token}"}


class Place(NamedTuple):
    """Where a request stands: its own `traceparent` and the sender's, and the sender's `tracestate`."""

    traceparent: str | None = None
    tracestate: str | None = None
    parent: str | None = None


NOWHERE = Place()


def entered(headers: Headers) -> Place:
    """The sender's trace goes on; a missing or malformed one begins a new trace (W3C, 3.2 and 4), or none."""
    parent = single(headers, "traceparent")
    if parent is None or not is_traceparent(parent):
        own = tracing.begin()
        return NOWHERE if own is None else Place(own)
    return Place(tracing.begin(parent), single(headers, "tracestate") or None, parent)


class Times(NamedTuple):
    """Readings of `time.perf_counter`: when the request began, was whole, was decided, was on disk or refused."""

    began: float
    read: float
    decided: float
    stored: float


def links_of(events: Iterable[Event]) -> Iterator[str]:
    """The traces of which senders say that their events belong to them."""
    for event in events:
        if event.extensions:
            said = event.extensions.get("traceparent")
            if isinstance(said, str) and is_traceparent(said):
                yield said


def record(place: Place, times: Times, status: int, links: Iterable[str], about: dict[str, Any]) -> None:
    """Write down the spans of a request that was answered, if its trace is kept."""
    own = place.traceparent
    if own is None or not tracing.kept(own):
        return
    now = time.time_ns() - int(time.perf_counter() * _NANOSECONDS)
    began, read, decided, stored = (now + int(moment * _NANOSECONDS) for moment in times)
    tracing.record(names.VERIFY, tracing.child(own), own, read, decided)
    sent = {names.MESSAGING_SYSTEM: names.NATS, names.MESSAGING_DESTINATION: names.INGRESS}
    sent |= {names.MESSAGING_OPERATION: "send"}
    tracing.record(
        names.SEND, tracing.child(own), own, decided, stored, kind=SpanKind.PRODUCER, attributes=sent
    )
    tracing.record(
        names.RECEIVE,
        own,
        place.parent,
        began,
        kind=SpanKind.SERVER,
        attributes=_ROUTE | about | {names.HTTP_STATUS: status},
        links=links,
        error=str(status) if status >= 500 else None,  # noqa: PLR2004 - the server's own faults
    )
