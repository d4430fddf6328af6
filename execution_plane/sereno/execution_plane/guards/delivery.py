"""Guard 6: what passed becomes one message, unless everything stands still or the agent is busy with the last one."""

from datetime import datetime
from hashlib import sha256
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.rights import held_by
from sereno.execution_plane.guards.state import GuardState
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.suspension import HELD_BY
from sereno.execution_plane.guards.verdict import Verdict, objected, passed


def decide(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Verdict:
    """Object with `stopped`, `held` or `busy`; else `delivered`, under an id that follows from receipt and subscription."""
    held = None if state.stop is None and state.suspension is None else hold(state)
    if held is not None:
        return held if held.guard == "delivery" else passed("delivery", {}, "outranked")
    if state.busy and policy.when_busy == "drop":
        return objected("delivery", "dropped", "busy", {"serial_key": activation.serial_key})
    message = message_id(activation.envelope, policy.name)
    return passed("delivery", {"message": message, "priority": policy.priority}, "delivered")


def hold(state: GuardState) -> Verdict | None:
    """The verdict of a stop or an open suspension, by the guard that it belongs to; a stop comes first."""
    if state.stop is not None:
        return objected("delivery", "held", "stopped", {"scope": state.stop})
    suspension = state.suspension
    if suspension is None:
        return None
    guard = HELD_BY.get(suspension.cause, "delivery")
    reason = "held" if guard == "delivery" else suspension.cause
    return objected(guard, "held", reason, held_by(suspension))


def identity_of(at: datetime, *parts: str) -> UUID:
    """A UUIDv7 of this moment that is the same for the same parts."""
    return _id(at, "\0".join(parts))


def message_id(envelope: Envelope, subscription: str) -> UUID:
    """A UUIDv7 of the time of receipt, so that it sorts by arrival; its other bits are a digest, not chance."""
    return _id(envelope.recordedtime, f"{envelope.tenantid}\0{envelope.receiptid}\0{subscription}")


def message_id_of_batch(batch: UUID, at: datetime) -> UUID:
    """The id of the message that a batch becomes: one batch is one message, however often it is decided."""
    return _id(at, f"batch\0{batch}")


def _id(at: datetime, text: str) -> UUID:
    digest = sha256(text.encode()).digest()
    return uuid7(max(0, int(at.timestamp() * 1000)), digest[:RANDOM_BYTES])
