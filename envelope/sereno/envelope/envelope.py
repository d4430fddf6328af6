"""The envelope: a sender's event and what the platform wrote about its receipt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from sereno.envelope.event import Event

Trust = Literal["platform", "authenticated", "untrusted"]
Sensitivity = Literal["public", "internal", "confidential"]

# The only trace attributes a sender may set; everything else below is the platform's alone.
TRACE_ATTRIBUTES = frozenset({"traceparent", "tracestate"})
PLATFORM_ATTRIBUTES = frozenset(
    {
        "receiptid",
        "tenantid",
        "origin",
        "actor",
        "actorid",
        "onbehalfof",
        "recordedtime",
        "dedupkey",
        "correlationid",
        "causationid",
        "hops",
        "trust",
        "sensitivity",
        "dataref",
        "outside",
    }
)


class EnvelopeFault(Exception):  # noqa: N818 - our faults are called faults, as refusals are values
    """Bytes of our own stream or store that are not an envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope(Event):
    """An event as the platform received it; every attribute below is written by the platform (contract, part 1).

    `receiptid` is a UUIDv7 as text, `recordedtime` is UTC, `hops` is 1 for the first event of a chain.
    `outside` keeps what a sender had set under a name that is ours.
    """

    receiptid: str
    tenantid: str
    origin: str
    recordedtime: datetime
    dedupkey: str
    correlationid: str
    hops: int
    trust: Trust
    causationid: str | None = None
    actor: str | None = None
    actorid: str | None = None
    onbehalfof: str | None = None
    sensitivity: Sensitivity | None = None
    dataref: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    outside: Mapping[str, object] = field(default_factory=dict)


# The generated constructor of a frozen class sets its 26 fields through object.__setattr__, which took half of
# the time of making one; writing through the slots themselves does the same for a fifth of it.
SLOTS: Mapping[str, Callable[[Envelope, object], None]] = {
    name: getattr(Envelope, name).__set__ for name in Envelope.__dataclass_fields__
}
"""How the hot paths write each field of an `object.__new__(Envelope)`; all of them, once."""
