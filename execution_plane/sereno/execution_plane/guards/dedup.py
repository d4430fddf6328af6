"""Guard 1: an occurrence that came before is dropped, and the verdict says what became of the first."""

from datetime import timedelta

from sereno.execution_plane.guards.passage import Number, Occurrence, Passage
from sereno.execution_plane.outside import FORCED

# A body that carries no event id counts only inside a bounded window: a genuinely new event may look the same.
BODY_KEY_WINDOW = timedelta(hours=1)
# Longer than any provider repeats a delivery.
KEY_WINDOW = timedelta(days=30)
# A captured body can be replayed for ever where the scheme signs no timestamp.
BODY_WINDOW = timedelta(days=7)


def dedup(passage: Passage) -> Passage:
    """Object with `duplicate` when the key or the signed body was seen inside its window (recorded clock)."""
    if FORCED in passage.envelope.outside:
        # A person asked for it although it is a duplicate; the verdict says so.
        return passage.passes("dedup", {"key": passage.envelope.dedupkey, "forced": True})
    state, recorded = passage.given.state, passage.given.clock.recorded
    if state.same_key is not None and recorded < state.same_key.expires_at:
        return _duplicate(passage, state.same_key, "key")
    if state.same_body is not None and recorded < state.same_body.expires_at:
        return _duplicate(passage, state.same_body, "body")
    return passage.passes("dedup", {"key": passage.envelope.dedupkey})


def _duplicate(passage: Passage, first: Occurrence, by: str) -> Passage:
    numbers: dict[str, Number] = {
        "key": passage.envelope.dedupkey,
        "by": by,
        "of": first.receiptid,
        "became": first.outcome,
        "message": None if first.message is None else str(first.message),
        "window_ends": first.expires_at,
    }
    return passage.objects("dedup", "dropped", "duplicate", numbers)


def window(dedupkey: str) -> timedelta:
    """How long an occurrence with this key is remembered."""
    return BODY_KEY_WINDOW if dedupkey.startswith("body:") else KEY_WINDOW


def remembers(passage: Passage) -> bool:
    """Whether the outcome takes the key. An error of ours and a paused subscription leave none, so that the
    sender's retry is a first arrival; a duplicate leaves the first as it stands. Strangers never come this far.
    """
    return passage.decided.outcome != "error" and passage.decided.reason not in ("not_active", "duplicate")
