"""The spans of a round, written down after its commit: one for each activation whose trace is kept, one for the round."""

import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from opentelemetry.trace import SpanKind

from sereno.envelope.identifiers import to_people
from sereno.envelope.trace_context import below
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.pipeline.round import Decided
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.engine import tracing
from sereno.mailbox.message import Message

_SPAN_DIGITS = 16
UNMATCHED = {names.OUTCOME: "dropped", names.REASON: "not_matched"}


class Times(NamedTuple):
    """When a round began, had locked and loaded, and had decided: nanoseconds since 1970."""

    began: int
    loaded: int
    decided: int


def activation_at(traceparent: str, receiptid: str, subscription: str) -> str:
    """The place of the activation of an event that became no message: from its names, so that others find it."""
    return below(traceparent, sha256(f"{receiptid}/{subscription}".encode()).hexdigest()[:_SPAN_DIGITS])


def record(decided: Iterable[Decided], messages: Iterable[Message], times: Times) -> None:
    """Write down the spans of a round that was committed just now."""
    if not tracing.active():
        return
    committed, events = time.time_ns(), list(_kept(decided))
    if not events:
        return
    batch = tracing.begin_kept()
    links = [at for at, _ in events]
    about: dict[str, Any] = {names.MESSAGING_SYSTEM: names.NATS, names.MESSAGING_DESTINATION: names.INGRESS}
    about |= {names.MESSAGING_OPERATION: "process", names.MESSAGING_COUNT: len(events)}
    tracing.record(
        names.PROCESS,
        batch,
        None,
        times.began,
        committed,
        kind=SpanKind.CONSUMER,
        attributes=about,
        links=links,
    )
    for at, item in events:
        for passage in item.passages:
            _activation(at, passage, batch, times, committed)
        if not item.passages:
            unmatched = _of_event(item) | UNMATCHED
            own = tracing.child(at)
            _consumed((own, at, batch), times.began, committed, unmatched)
    woken((message for message in messages if "batch" in message.context), times.decided, committed)


def woken(messages: Iterable[Message], began: int, ended: int | None = None) -> None:
    """Write down how batches, or events that were held, became messages; each links to every one of its events."""
    if not tracing.active():
        return
    for message in messages:
        own = message.context.get("trace", {}).get("traceparent")
        if not tracing.kept(own):
            continue
        causes = [one["traceparent"] for one in message.envelopes if tracing.kept(one.get("traceparent"))]
        tracing.record(
            names.FLUSH if "batch" in message.context else names.ACTIVATION,
            own,
            causes[-1] if causes else None,
            began,
            ended,
            kind=SpanKind.PRODUCER,
            attributes=_of_message(message) | {names.OUTCOME: "delivered"},
            links=causes if len(causes) > 1 else (),
        )


def _kept(decided: Iterable[Decided]) -> Iterator[tuple[str, Decided]]:
    for item in decided:
        at = item.arrival.envelope.traceparent
        if at is not None and tracing.kept(at):
            yield at, item


def _activation(at: str, passage: Passage, batch: str, times: Times, committed: int) -> None:
    decision, subscription = passage.decided, passage.subscription
    own = (
        activation_at(at, passage.envelope.receiptid, subscription.name)
        if decision.message is None
        else below(at, decision.message.hex[_SPAN_DIGITS:])
    )
    said = {names.OUTCOME: decision.outcome, names.GUARD: decision.guard, names.REASON: decision.reason}
    about = said | {
        names.TENANT: subscription.tenant,
        names.RECEIPT: to_people("rcp", passage.envelope.receiptid),
        names.ORIGIN: passage.envelope.origin,
        names.SUBSCRIPTION: subscription.name,
        names.VERSION: subscription.version,
        names.AGENT: subscription.agent,
        names.MESSAGE: None if decision.message is None else to_people("msg", decision.message),
    }
    tracing.record(names.GUARDS, tracing.child(own), own, times.loaded, times.decided, attributes=said)
    if decision.message is not None:
        tracing.record(
            names.DEPOSIT, tracing.child(own), own, times.decided, committed, kind=SpanKind.PRODUCER
        )
    _consumed((own, at, batch), times.began, committed, about)


def _consumed(places: tuple[str, str, str], began: int, ended: int, about: dict[str, Any]) -> None:
    (own, at, batch), kind = places, SpanKind.CONSUMER
    tracing.record(names.ACTIVATION, own, at, began, ended, kind=kind, attributes=about, links=(batch,))


def _of_event(item: Decided) -> dict[str, Any]:
    envelope = item.arrival.envelope
    receipt = to_people("rcp", envelope.receiptid)
    return {names.TENANT: envelope.tenantid, names.RECEIPT: receipt, names.ORIGIN: envelope.origin}


def _of_message(message: Message) -> dict[str, Any]:
    return {
        names.TENANT: message.tenant,
        names.AGENT: message.agent,
        names.SUBSCRIPTION: message.subscription.name,
        names.VERSION: message.subscription.version,
        names.MESSAGE: to_people("msg", message.id),
    }
