"""Guard 6: what passed becomes one message, whose identity follows from the receipt and the subscription,
unless a stop stands in the way.
"""

from hashlib import sha256
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.guards.passage import Passage


def delivery(passage: Passage) -> Passage:
    """Deliver: the same receipt and subscription give the same message id, however often they are decided."""
    if passage.given.stop is not None:
        return passage.objects("delivery", "held", "stopped", {"scope": passage.given.stop})
    message = message_id(passage.envelope, passage.subscription.name)
    return passage.delivers(message, {"message": str(message), "priority": passage.subscription.priority})


def message_id(envelope: Envelope, subscription: str) -> UUID:
    """A UUIDv7 of the time of receipt, so that it sorts by arrival; its other bits are a digest, not chance."""
    millis = int(envelope.recordedtime.timestamp() * 1000)
    digest = sha256(f"{envelope.tenantid}\0{envelope.receiptid}\0{subscription}".encode()).digest()
    return uuid7(millis, digest[:RANDOM_BYTES])
