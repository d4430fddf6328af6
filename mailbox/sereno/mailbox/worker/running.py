"""A run as others see it: its span, current while the handler works, and the ids in every line of its log."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, get_current_span

from sereno.mailbox.client import LeasedMessage
from sereno.mailbox.engine import logs, tracing
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.lease_items import AckItem, ParkItem, ReleaseItem

_MOST_LINKS = 128


@contextmanager
def running(message: LeasedMessage) -> Iterator[Span]:
    """The span of a run below its message's; that of a batch links to each of its events.

    Whatever the handler asks of others in its course may carry it on: the spans of its own instrumentation do.
    """
    document, trace = message.document, message.trace
    subscription = document.get("subscription", {}).get("name")
    about = {
        names.TENANT: document.get("tenant"),
        names.AGENT: message.agent,
        names.SUBSCRIPTION: subscription,
        names.MESSAGE: message.id,
        names.LEASE: message.token,
        names.ATTEMPT: message.attempts,
    }
    with (
        logs.about(
            traceparent=trace.get("traceparent"),
            tenant=document.get("tenant"),
            agent=message.agent,
            subscription=subscription,
            message=message.id,
        ),
        tracing.tracer().start_as_current_span(
            f"{names.RUN} {message.agent}",
            context=tracing.context_of(trace),
            kind=SpanKind.CONSUMER,
            attributes={name: value for name, value in about.items() if value is not None},
            links=_links(message),
            # What a handler raises may quote what it worked on; the type of its failure is said below.
            record_exception=False,
            set_status_on_exception=False,
        ) as span,
    ):
        yield span


def _links(message: LeasedMessage) -> list[Link]:
    envelopes = message.envelopes
    if len(envelopes) == 1:
        return []
    places = (get_current_span(tracing.context_of(one)).get_span_context() for one in envelopes)
    return [Link(place) for place in islice((one for one in places if one.is_valid), _MOST_LINKS)]


def ended(span: Span, end: AckItem | ReleaseItem | ParkItem) -> None:
    """Say on the span how its run ended; of a failure the type alone."""
    match end:
        case AckItem():
            span.set_attribute(names.OUTCOME, "acked")
        case ParkItem():
            span.set_attribute(names.OUTCOME, "parked")
        case ReleaseItem(reason=reason):
            span.set_attribute(names.OUTCOME, "released")
            kind = reason.partition(":")[0]
            if kind == "failed":
                span.set_status(Status(StatusCode.ERROR))
