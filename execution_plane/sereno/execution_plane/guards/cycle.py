"""Guard 2: an event whose own causes already woke this agent does not wake it again."""

from functools import lru_cache

from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.lineage import MAX_ANCESTORS
from sereno.execution_plane.guards.state import GuardState
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import Number, Verdict, objected, passed


def decide(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Verdict:
    """Object with `self_origin`, `cycle` or `too_deep`; reads the genealogy that the platform wrote, nothing else."""
    envelope, ancestors = activation.envelope, state.ancestors
    if not ancestors and envelope.hops <= policy.tenancy.max_chain and not is_own_act(activation, policy):
        return _without_ancestors(envelope.hops, policy.tenancy.max_chain, policy.reentry)
    same_agent = sum([ancestor.agent == policy.agent for ancestor in ancestors])
    numbers: dict[str, Number] = {
        "hops": envelope.hops,
        "max_hops": policy.tenancy.max_chain,
        "ancestors": len(ancestors),
        "same_agent": same_agent,
        "reentry": policy.reentry,
    }
    if is_own_act(activation, policy):
        return objected("cycle", "dropped", "self_origin", {**numbers, "actor": envelope.actor})
    if same_agent > policy.reentry:
        path = [*(ancestor.agent for ancestor in ancestors), policy.agent]
        return objected("cycle", "dropped", "cycle", {**numbers, "path": path})
    if envelope.hops > policy.tenancy.max_chain or len(ancestors) > MAX_ANCESTORS:
        return objected("cycle", "dropped", "too_deep", numbers)
    return passed("cycle", numbers)


@lru_cache(maxsize=256)
def _without_ancestors(hops: int, max_hops: int, reentry: int) -> Verdict:
    """What is said of most events: nothing of ours led to them."""
    numbers: dict[str, Number] = {
        "hops": hops,
        "max_hops": max_hops,
        "ancestors": 0,
        "same_agent": 0,
        "reentry": reentry,
    }
    return passed("cycle", numbers)


def is_own_act(activation: Activation, policy: Subscription) -> bool:
    """Whether the agent itself did at the source what the event tells of, outside any chain of ours."""
    envelope = activation.envelope
    return bool(policy.identities) and (envelope.origin, envelope.actor) in policy.identities
