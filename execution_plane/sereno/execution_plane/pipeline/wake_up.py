"""The wake-up: the message that a delivered passage, or a batch, becomes."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sereno.envelope.trace_context import below, is_sampled, is_traceparent
from sereno.execution_plane.guards.batch import BatchItem, OpenBatch
from sereno.execution_plane.guards.budget import Reservation
from sereno.execution_plane.guards.changes import Change, Reserve
from sereno.execution_plane.guards.flush import Delivered, digest
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.subscription import Subscription
from sereno.mailbox.message import Message, SubscriptionRef


class Told:
    """What messages are told of their reservations: most of a subscription share the very same lines."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[Reservation, dict[str, str]]] = {}

    def of(self, reservation: Reservation) -> dict[str, str]:
        """What one activation may use before its budgets are touched again: the amount by what it is counted in."""
        found = self._told.get(id(reservation.lines))
        if found is None:
            told = {account.measure: str(amount) for account, amount in reservation.lines}
            # Kept with it: an id is that of one object only while it lives.
            found = self._told[id(reservation.lines)] = reservation, told
        return found[1]


def message_of(passage: Passage, attributes: Mapping[str, Any], told: Told) -> Message:
    """The message that a delivered passage becomes; its instruction is the subscription's, byte for byte."""
    message = passage.decided.message
    if message is None:
        raise ValueError("only a delivered passage becomes a message")
    activation = passage.given.activation
    return _message(
        message,
        passage.subscription,
        [attributes],
        ancestors=passage.given.state.ancestors,
        serial_key=activation.serial_key,
        context=_context(
            passage.subscription, attributes, passage.changes, told, _trace(message, [attributes])
        ),
    )


def message_of_batch(
    flushed: Delivered,
    batch: OpenBatch,
    items: Sequence[BatchItem],
    subscription: Subscription,
    told: Told,
) -> Message:
    """The message that a batch becomes: every envelope of it in order of arrival, and a bounded digest."""
    envelopes = [item.attributes for item in sorted(items, key=lambda item: item.place)]
    trace = _trace(flushed.message, envelopes)
    context = _context(subscription, envelopes[-1], flushed.changes, told, trace)
    context["batch"] = {"id": str(batch.id), "key": batch.key or None, **digest(envelopes)}
    return _message(
        flushed.message,
        subscription,
        envelopes,
        ancestors=batch.ancestors,
        serial_key=batch.serial_key,
        context=context,
    )


def _message(
    identity: UUID,
    subscription: Subscription,
    envelopes: Sequence[Mapping[str, Any]],
    *,
    ancestors: Sequence[Ancestor],
    serial_key: str | None,
    context: Mapping[str, Any],
) -> Message:
    return Message(
        id=identity,
        tenant=subscription.tenant,
        agent=subscription.agent,
        subscription=SubscriptionRef(subscription.name, subscription.version),
        instruction=subscription.instruction,
        envelopes=envelopes,
        priority=subscription.priority,
        serial_key=serial_key,
        max_attempts=subscription.max_attempts,
        lease_seconds=subscription.lease.total_seconds(),
        max_run_seconds=subscription.max_run.total_seconds(),
        max_age_seconds=subscription.max_age.total_seconds(),
        lineage=[{"message": ancestor.message, "agent": ancestor.agent} for ancestor in ancestors],
        context=context,
    )


def _trace(message: UUID, envelopes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The place of the message in the trace of its cause: of several, of the last whose spans are kept.

    The span is named by the message, so that nothing has to be drawn here, and a round that is done again names it alike.
    """
    traced = [one for one in envelopes if is_traceparent(str(one.get("traceparent", "")))]
    cause = next((one for one in reversed(traced) if is_sampled(one["traceparent"])), None)
    if cause is None:
        if not traced:
            return {}
        cause = traced[-1]
    found = {"traceparent": below(cause["traceparent"], message.hex[16:])}
    state = cause.get("tracestate")
    return {**found, "tracestate": state} if isinstance(state, str) else found


def _context(
    subscription: Subscription,
    attributes: Mapping[str, Any],
    changes: Sequence[Change],
    told: Told,
    trace: Mapping[str, str],
) -> dict[str, Any]:
    context: dict[str, Any] = {
        "on_behalf_of": attributes.get("onbehalfof"),
        "attributed_to": subscription.owner,
        "workspace": subscription.workspace,
        "source": subscription.origin,
        "trace": trace,
    }
    reserved = next((change.reservation for change in changes if isinstance(change, Reserve)), None)
    if reserved is not None:
        context["budget_reservation"] = told.of(reserved)
    return context
