"""Guard 2: an event whose own causes already woke this agent does not wake it again."""

from sereno.execution_plane.guards.passage import Number, Passage

MAX_CHAIN = 8
MAX_ANCESTORS = 64


def cycle(passage: Passage) -> Passage:
    """Object with `self_origin`, `cycle` or `too_deep`; reads the genealogy that the platform wrote, nothing else."""
    envelope, subscription = passage.envelope, passage.subscription
    ancestors = passage.given.state.ancestors
    same_agent = sum(ancestor.agent == subscription.agent for ancestor in ancestors)
    numbers: dict[str, Number] = {
        "hops": envelope.hops,
        "max_hops": MAX_CHAIN,
        "ancestors": len(ancestors),
        "same_agent": same_agent,
        "reentry": subscription.reentry,
    }
    if (envelope.origin, envelope.actor) in subscription.identities:
        return passage.objects("cycle", "dropped", "self_origin", {**numbers, "actor": envelope.actor})
    if same_agent > subscription.reentry:
        path = [*(ancestor.agent for ancestor in ancestors), subscription.agent]
        return passage.objects("cycle", "dropped", "cycle", {**numbers, "path": path})
    if envelope.hops > MAX_CHAIN or len(ancestors) > MAX_ANCESTORS:
        return passage.objects("cycle", "dropped", "too_deep", numbers)
    return passage.passes("cycle", numbers)
