"""The spans of leases: a claim stands below its message, a verb below its caller or, where that says nothing, below the claim."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from opentelemetry.trace import SpanKind

from sereno.envelope.identifiers import to_people
from sereno.envelope.trace_context import is_traceparent, trace_of
from sereno.mailbox.emission import Emission
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.engine import tracing
from sereno.mailbox.lease_items import Answer, Claimed, Status

MOST_REMEMBERED: Final = 10_000
SHOWN: Final = frozenset({"ack", "release", "park"})
"""Verbs that end a lease; renewals and checks would be nothing but noise."""


def place_of(context: Mapping[str, Any]) -> str | None:
    """The place of a message in its trace, from its context."""
    trace = context.get("trace")
    found = trace.get("traceparent") if isinstance(trace, Mapping) else None
    return found if isinstance(found, str) and is_traceparent(found) else None


class Leases:
    """Which traced message each lease of this process is on; bounded, and lost with the process."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[str, dict[str, Any]]] = {}

    def claimed(self, leased: Iterable[Claimed], began: int) -> None:
        """Write down the claim of each message whose trace is kept."""
        for one in leased:
            at = place_of(one.context)
            if not tracing.kept(at):
                continue
            about = {
                names.TENANT: one.tenant,
                names.AGENT: one.agent,
                names.SUBSCRIPTION: one.subscription.name,
                names.MESSAGE: to_people("msg", one.id),
                names.LEASE: one.lease.token,
            }
            if len(self._held) >= MOST_REMEMBERED:
                del self._held[next(iter(self._held))]
            self._held[one.lease.token] = at, about
            claim = about | {names.ATTEMPT: one.attempts}
            tracing.record(names.CLAIM, tracing.child(at), at, began, kind=SpanKind.SERVER, attributes=claim)

    def answered(self, verb: str, answers: Iterable[Answer], began: int) -> None:
        """Write down what became of a verb for each lease whose trace is known here, and whose spans are kept."""
        if verb not in SHOWN:
            return
        ended, calling = time.time_ns(), tracing.caller()
        for answer in answers:
            held = self._held.pop(answer.token, None)
            below = _below(None if held is None else held[0], calling)
            if below is None:
                continue
            about = ({names.LEASE: answer.token} if held is None else held[1]) | {names.STATUS: answer.status}
            error = None if answer.status is Status.OK else answer.status
            tracing.record(
                verb,
                tracing.child(below),
                below,
                began,
                ended,
                kind=SpanKind.SERVER,
                attributes=about,
                error=error,
            )


def emitting(emission: Emission) -> Emission:
    """The emission with its place in the trace of its work, which goes on in the event."""
    below = _below(place_of(emission.context), tracing.caller())
    return replace(emission, traceparent=tracing.child(below) if tracing.kept(below) else below)


def emitted(emissions: Sequence[Emission], receipts: Sequence[UUID], began: int) -> None:
    """Write down what agents said, after the commit."""
    for one, receipt in zip(emissions, receipts, strict=True):
        if not tracing.kept(one.traceparent):
            continue
        about = {
            names.TENANT: one.tenant,
            names.AGENT: one.agent,
            names.SUBSCRIPTION: one.subscription,
            names.MESSAGE: to_people("msg", one.message_id),
            names.RUN_ID: to_people("run", one.run_id),
            names.LEASE: one.token,
            names.RECEIPT: to_people("rcp", receipt),
        }
        below = _below(place_of(one.context), tracing.caller())
        tracing.record(names.EMIT, one.traceparent, below, began, kind=SpanKind.PRODUCER, attributes=about)


def _below(message: str | None, calling: str | None) -> str | None:
    """The caller's span, unless it works in another trace than the one of the message: a call may be about many."""
    if calling is None or (message is not None and trace_of(message) != trace_of(calling)):
        return message
    return calling if tracing.kept(calling) else message
