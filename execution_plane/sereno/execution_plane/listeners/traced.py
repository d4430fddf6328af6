"""The spans of instants that were due: the beginning of a trace, written down after the commit."""

from collections.abc import Iterable
from datetime import datetime

from opentelemetry.trace import SpanKind

from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import to_people
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.engine import tracing


def fired(name: str, signals: Iterable[Envelope], now: datetime, began: int) -> None:
    """Write down each signal whose trace is kept: `began` in nanoseconds since 1970, `now` is when it was due at last."""
    if not tracing.active():
        return
    for signal in signals:
        at = signal.traceparent
        if at is None or not tracing.kept(at):
            continue
        late = None if signal.time is None else (now - signal.time).total_seconds()
        about = {
            names.TENANT: signal.tenantid,
            names.RECEIPT: to_people("rcp", signal.receiptid),
            names.SUBSCRIPTION: signal.origin.partition("/")[2],
            names.LATENESS: late,
        }
        tracing.record(name, at, None, began, kind=SpanKind.PRODUCER, attributes=about)
