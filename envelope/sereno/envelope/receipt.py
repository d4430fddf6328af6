"""Receipt: how an outsider's event becomes the platform's envelope."""

from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from sereno.envelope.encode import in_utc
from sereno.envelope.envelope import (
    PLATFORM_ATTRIBUTES,
    SLOTS,
    TRACE_ATTRIBUTES,
    Envelope,
    Sensitivity,
    Trust,
)
from sereno.envelope.event import Event
from sereno.envelope.trace_context import is_traceparent

_RANK: Mapping[object, int] = {"public": 0, "internal": 1, "confidential": 2}
_BY_RANK: tuple[Sensitivity, ...] = ("public", "internal", "confidential")
NO_NOTES: Mapping[str, object] = {}

_EVENT = ("id", "source", "type", "time", "subject", "datacontenttype", "dataschema", "data")
_RECEIPT = (
    "receiptid",
    "tenantid",
    "origin",
    "dedupkey",
    "hops",
    "trust",
    "causationid",
    "actor",
    "actorid",
    "onbehalfof",
    "dataref",
)
_of_event, _of_receipt = attrgetter(*_EVENT), attrgetter(*_RECEIPT)
_PUT_OF_EVENT = tuple(SLOTS[name] for name in _EVENT)
_PUT_OF_RECEIPT = tuple(SLOTS[name] for name in _RECEIPT)
_REST = (
    "extensions",
    "recordedtime",
    "correlationid",
    "sensitivity",
    "traceparent",
    "tracestate",
    "outside",
)
_PUT_THE_REST = tuple(SLOTS[name] for name in _REST)


class Receipt(NamedTuple):
    """What the platform knows about one arrival; `recordedtime` is when it was received.

    Without a `correlationid` the event begins a chain of its own. `traceparent` is that of our own span.
    """

    receiptid: str
    tenantid: str
    origin: str
    recordedtime: datetime
    dedupkey: str
    trust: Trust
    actor: str | None = None
    actorid: str | None = None
    onbehalfof: str | None = None
    sensitivity: Sensitivity | None = None
    dataref: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    correlationid: str | None = None
    causationid: str | None = None
    hops: int = 1


def receive(event: Event, receipt: Receipt, notes: Mapping[str, object] = NO_NOTES) -> Envelope:
    """The envelope of an event: whatever the sender set under a name of ours moves to `outside`, beside `notes`."""
    outside: dict[str, object] = {}
    extensions: dict[str, str | int | bool] = {}
    for name, value in event.extensions.items():
        if name in PLATFORM_ATTRIBUTES:
            outside[name] = value
        elif name not in TRACE_ATTRIBUTES:
            extensions[name] = value
    traceparent, tracestate = _trace(event, receipt, outside)
    sensitivity = _raised(receipt.sensitivity, outside.get("sensitivity"))
    outside.update(notes)
    envelope = object.__new__(Envelope)
    for put, content in zip(_PUT_OF_EVENT, _of_event(event), strict=True):
        put(envelope, content)
    for put, content in zip(_PUT_OF_RECEIPT, _of_receipt(receipt), strict=True):
        put(envelope, content)
    rest = (
        extensions,
        in_utc(receipt.recordedtime),
        receipt.correlationid or receipt.receiptid,
        sensitivity,
        traceparent,
        tracestate,
        outside,
    )
    for put, content in zip(_PUT_THE_REST, rest, strict=True):
        put(envelope, content)
    return envelope


def _trace(event: Event, receipt: Receipt, outside: dict[str, object]) -> tuple[str | None, str | None]:
    """The trace context to carry on: ours, else a well-formed one of the sender; one not carried goes outside."""
    if not event.extensions:
        return receipt.traceparent, receipt.tracestate
    parent, state = event.extensions.get("traceparent"), event.extensions.get("tracestate")
    if receipt.traceparent is None and isinstance(parent, str) and is_traceparent(parent):
        return parent, state if isinstance(state, str) else None
    outside.update({name: event.extensions[name] for name in TRACE_ATTRIBUTES if name in event.extensions})
    return receipt.traceparent, receipt.tracestate


def _raised(declared: Sensitivity | None, claimed: object) -> Sensitivity | None:
    """The declared sensitivity, or a sender's higher claim: an outside tag makes stricter, never looser."""
    if not isinstance(claimed, str) or claimed not in _RANK:
        return declared
    return _BY_RANK[max(_RANK[claimed], _RANK.get(declared, 0))]
