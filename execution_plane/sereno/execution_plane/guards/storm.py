"""Guard 7: a burst beyond the threshold suspends the subscription; no subscription can ask for it yet."""

from sereno.execution_plane.guards.passage import Passage


def storm(passage: Passage) -> Passage:
    """Answer `not configured`: a storm limit is refused when the subscription is applied."""
    return passage.is_not_asked("storm")
