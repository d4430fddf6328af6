"""The way of spans out of this process: gathered, and sent in the background as OTLP over HTTP.

Where to, with which headers and how often says the environment, in the variables of OpenTelemetry's specification.
"""

import threading
from itertools import islice

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

from sereno.envelope.trace_context import span_of, trace_of
from sereno.mailbox.engine import semantics
from sereno.mailbox.engine.tracing import Finished

CLOSE_SECONDS = 3.0
MOST_LINKS = 128
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_FINE, _FAILED = Status(StatusCode.UNSET), Status(StatusCode.ERROR)
_SCOPE = InstrumentationScope(semantics.SCOPE)


class Export:
    """Where the spans of this process go; made once, after the process was forked."""

    def __init__(self, process: str) -> None:
        self._resource = Resource.create({"service.name": f"sereno-{process}", "service.namespace": "sereno"})
        self._processor = BatchSpanProcessor(OTLPSpanExporter())
        provider = TracerProvider(resource=self._resource, shutdown_on_exit=False)
        provider.add_span_processor(self._processor)
        # Not the global one: libraries that trace would send names and texts over which we have no say.
        self.tracer = provider.get_tracer(semantics.SCOPE)

    def write(self, span: Finished) -> None:
        """Queue a span that is over. When the queue is full it is dropped, so that a slow receiver slows down nothing."""
        attributes = {key: value for key, value in span.attributes.items() if value is not None}
        if span.error is not None:
            attributes[semantics.ERROR] = span.error
        # A span of the SDK draws its own id and cannot be made afterwards; what the exporter reads can.
        self._processor.on_end(
            ReadableSpan(
                span.name,
                _context(span.at, remote=False),
                None if span.parent is None else _context(span.parent, remote=True),
                self._resource,
                attributes,
                links=[Link(_context(link, remote=True)) for link in islice(span.links, MOST_LINKS)],
                kind=span.kind,
                status=_FINE if span.error is None else _FAILED,
                start_time=span.began,
                end_time=span.ended,
                instrumentation_scope=_SCOPE,
            )
        )

    def close(self) -> None:
        """Send what is left; a receiver that does not answer is not waited for longer than three seconds."""
        closing = threading.Thread(target=self._processor.shutdown, name="sereno-spans", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)


def _context(traceparent: str, *, remote: bool) -> SpanContext:
    return SpanContext(int(trace_of(traceparent), 16), int(span_of(traceparent), 16), remote, _SAMPLED)
