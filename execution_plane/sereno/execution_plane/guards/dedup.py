"""Guard 1: an occurrence that came before is dropped, and the verdict says what became of the first."""

from datetime import timedelta

from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.state import GuardState, Occurrence
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import Number, Verdict, objected, passed
from sereno.execution_plane.outside import FORCED

# A body that carries no event id counts only inside a bounded window: a genuinely new event may look the same.
BODY_KEY_WINDOW = timedelta(hours=1)
# Longer than any provider repeats a delivery.
KEY_WINDOW = timedelta(days=30)
# A captured body can be replayed for ever where the scheme signs no timestamp.
BODY_WINDOW = timedelta(days=7)


def decide(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Verdict:
    """Object with `duplicate` when the key or the signed body was seen inside its window (recorded clock).

    What was held came through here before, and a person may force a repetition; the verdict says so.
    """
    if activation.entry == "held":
        return passed("dedup", {"key": activation.envelope.dedupkey, "entry": "held"})
    if FORCED in activation.envelope.outside:
        return passed("dedup", {"key": activation.envelope.dedupkey, "forced": True})
    if state.same_key is not None and now.recorded < state.same_key.expires_at:
        return _duplicate(activation, state.same_key, "key")
    if state.same_body is not None and now.recorded < state.same_body.expires_at:
        return _duplicate(activation, state.same_body, "body")
    return passed("dedup", {"key": activation.envelope.dedupkey})


def _duplicate(activation: Activation, first: Occurrence, by: str) -> Verdict:
    numbers: dict[str, Number] = {
        "key": activation.envelope.dedupkey,
        "by": by,
        "of": first.receiptid,
        "became": first.outcome,
        "message": first.message,
        "window_ends": first.expires_at,
    }
    return objected("dedup", "dropped", "duplicate", numbers)


def window(dedupkey: str) -> timedelta:
    """How long an occurrence with this key is remembered."""
    return BODY_KEY_WINDOW if dedupkey.startswith("body:") else KEY_WINDOW
