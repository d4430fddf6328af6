"""Spans of this process, sent over OTLP where the environment names a receiver; where it names none, none is made.

The place of a span in its trace is text, a `traceparent`, as it travels in envelopes, messages and headers. Whether a
trace is kept is decided once, where it begins, and stands in the flags; whoever comes later reads them. Most spans are
written down when they are over: their ids and times are known by then, and what was rolled back leaves none.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Tracer, get_current_span, get_tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sereno.envelope.trace_context import below, is_sampled, is_traceparent, place, trace_of
from sereno.mailbox.engine import sampling, semantics

if TYPE_CHECKING:
    from sereno.mailbox.engine.span_export import Export

_TRACE_BYTES, _SPAN_BYTES = 16, 8
_DISABLED = ("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")

_PROPAGATOR = TraceContextTextMapPropagator()

_export: "Export | None" = None
_sampling: sampling.Sampling = sampling.Share(0)
_calling: ContextVar[str | None] = ContextVar("calling", default=None)


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether the environment names a receiver of spans. Raises ValueError for a protocol other than OTLP over HTTP."""
    if any(environment.get(name, "").strip().lower() == off for name, off in _DISABLED):
        return False
    if not any(environment.get(name, "").strip() for name in _ENDPOINTS):
        return False
    for name in _PROTOCOLS:
        if environment.get(name, "http/protobuf").strip() not in {"", "http/protobuf"}:
            raise ValueError(f"{name}: expected http/protobuf, in which Sereno sends spans")
    return True


def start(process: str, *, per_second: float = sampling.DEFAULT_PER_SECOND) -> None:
    """Send the spans of this process from now on, if the environment asks for it. Raises ValueError naming a variable."""
    global _export, _sampling  # noqa: PLW0603 - one process has one place to which its spans go
    if not wanted(os.environ):
        return
    from sereno.mailbox.engine.span_export import Export  # noqa: PLC0415 - half a second that few processes need

    _sampling = sampling.configured(os.environ, per_second)
    _export = Export(process)


def stop() -> None:
    """Send what is left, for at most a few seconds, and nothing from then on."""
    global _export
    export, _export = _export, None
    if export is not None:
        export.close()


def active() -> bool:
    """Whether spans of this process are sent anywhere."""
    return _export is not None


def begin(parent: str | None = None) -> str | None:
    """The place of a span with which something enters: below a sender's `traceparent`, if that is valid, or in a new trace.

    Where no spans are sent the sender's goes on as it is.
    """
    if parent is not None and not is_traceparent(parent):
        parent = None
    if _export is None:
        return parent
    digits = os.urandom(_TRACE_BYTES + _SPAN_BYTES).hex()
    trace = digits[: 2 * _TRACE_BYTES] if parent is None else trace_of(parent)
    taken = _sampling.takes(trace, None if parent is None else is_sampled(parent))
    return place(trace, digits[2 * _TRACE_BYTES :], sampled=taken)


def begin_kept() -> str:
    """The place of a span in a new trace that is kept, because traces that are kept lead to it."""
    digits = os.urandom(_TRACE_BYTES + _SPAN_BYTES).hex()
    return place(digits[: 2 * _TRACE_BYTES], digits[2 * _TRACE_BYTES :], sampled=True)


def kept(traceparent: object) -> TypeGuard[str]:
    """Whether spans at this place are to be written down by this process."""
    return _export is not None and type(traceparent) is str and traceparent != "" and is_sampled(traceparent)


def child(parent: str) -> str:
    """The place of a new span below this one."""
    return below(parent, os.urandom(_SPAN_BYTES).hex())


def caller() -> str | None:
    """The place of the span on whose behalf the present task works, where it is known."""
    return _calling.get()


def called_by(traceparent: str | None) -> None:
    """Let the present task work on behalf of this span; what is malformed counts as none."""
    _calling.set(traceparent if traceparent is not None and is_traceparent(traceparent) else None)


def record(
    name: str,
    at: str,
    parent: str | None,
    began: int,
    ended: int | None = None,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, Any] | None = None,
    links: Iterable[str] = (),
    error: str | None = None,
) -> None:
    """Write down a span that is over, if spans at its place are kept; times in nanoseconds since 1970, `ended` now if None."""
    if kept(at) and _export is not None:
        over = time.time_ns() if ended is None else ended
        _export.write(Finished(name, at, parent, began, over, kind, attributes or {}, links, error))


class Finished(NamedTuple):
    """A span that is over: its place and its parent's, times in nanoseconds since 1970, the type of a failure."""

    name: str
    at: str
    parent: str | None
    began: int
    ended: int
    kind: SpanKind
    attributes: Mapping[str, Any]
    links: Iterable[str]
    error: str | None


class Open:
    """A span that is not over yet: what is found out meanwhile becomes its attributes."""

    __slots__ = ("at", "attributes", "error")

    def __init__(self, at: str | None, attributes: dict[str, Any]) -> None:
        self.at = at
        self.attributes = attributes
        self.error: str | None = None


@contextmanager
def span(
    name: str,
    parent: str | None,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, Any] | None = None,
    links: Iterable[str] = (),
) -> Iterator[Open]:
    """A span around the body, below `parent`, on whose behalf the body works; none is made where the parent's is not kept."""
    if parent is None or not kept(parent):
        yield Open(parent, {})
        return
    opened = Open(child(parent), dict(attributes or {}))
    token, began = _calling.set(opened.at), time.time_ns()
    try:
        yield opened
    except BaseException as fault:
        opened.error = type(fault).__name__
        raise
    finally:
        _calling.reset(token)
        record(
            name,
            opened.at or parent,
            parent,
            began,
            kind=kind,
            attributes=opened.attributes,
            links=links,
            error=opened.error,
        )


def tracer() -> Tracer:
    """The tracer for code that others may instrument too: ours where spans are sent, else that of the program around us."""
    return get_tracer(semantics.SCOPE) if _export is None else _export.tracer


def context_of(trace: object) -> Context:
    """The context in OpenTelemetry's sense that a message's `trace` stands for; an empty one for anything malformed."""
    found = trace if isinstance(trace, Mapping) else {}
    return _PROPAGATOR.extract({name: text for name, text in found.items() if isinstance(text, str)})


def headers() -> dict[str, str]:
    """The `traceparent` and `tracestate` of the present span, for whoever is asked in its course; empty without one."""
    found: dict[str, str] = {}
    if get_current_span().get_span_context().is_valid:
        _PROPAGATOR.inject(found)
    return found
