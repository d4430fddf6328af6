"""Guard 5: novelties that may wait for each other; no subscription can ask for it yet."""

from sereno.execution_plane.guards.passage import Passage


def batching(passage: Passage) -> Passage:
    """Answer `not configured`: a batch limit is refused when the subscription is applied."""
    return passage.is_not_asked("batching")
