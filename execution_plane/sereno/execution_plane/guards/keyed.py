"""Makes the activation of one subscription: the event with the keys that the subscription takes from it."""

from collections.abc import Mapping
from typing import Any

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards.activation import Activation, Entry, is_verdict
from sereno.execution_plane.guards.condition import candidate_of
from sereno.execution_plane.guards.subscription import Subscription

_BETWEEN = "\x1f"
_new = tuple.__new__


def activation_of(
    envelope: Envelope, attributes: Mapping[str, Any], subscription: Subscription, entry: Entry = "arrival"
) -> Activation:
    """The activation of an event for this subscription. FilterFault when a key of it cannot be evaluated.

    A batch holds events of one serial key, so that its message stands in one queue.
    """
    if subscription.batch_by is None and subscription.serial_by is None:
        return _new(Activation, (envelope, attributes, entry, None, None))
    event = candidate_of(attributes) if is_verdict(envelope) else attributes
    serial = None if subscription.serial_by is None else subscription.serial_by(event)
    by = None if subscription.batch_by is None else subscription.batch_by(event)
    batch = by if serial is None else serial if by is None or by == serial else f"{by}{_BETWEEN}{serial}"
    return _new(Activation, (envelope, attributes, entry, batch, serial))
