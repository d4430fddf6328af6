"""Guard 3: the subscription may fire now, its sender is good enough, and there is budget for one more activation."""

from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.budget import exceeded, numbers_of
from sereno.execution_plane.guards.state import GuardState
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.suspension import HELD_BY, Suspension
from sereno.execution_plane.guards.verdict import Number, Verdict, objected, passed
from sereno.execution_plane.outside import ENDPOINT_PAUSED
from sereno.subscriptions.rights import objection


def decide(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Verdict:
    """Object with the first thing that the catalog, an open suspension or a budget says against it (database clock)."""
    standing, trust, memory = state.standing, activation.envelope.trust, state.memory
    numbers: dict[str, Number] = {
        "state": standing.state,
        "version": policy.version,
        "expires": standing.expires,
        "policy_valid_until": standing.valid_until,
        "trust": trust,
    }
    authority = standing.authority
    if authority is not None:
        numbers |= {"policy": authority.policy, "rule": authority.rule, "sponsor": authority.sponsor}
    if ENDPOINT_PAUSED in activation.envelope.outside:
        return objected("rights", "dropped", "not_active", numbers | {"endpoint": "paused"})
    found = objection(standing, now.database, sender_verified=trust != "untrusted")
    if found is not None:
        return objected("rights", found.outcome, found.reason, numbers)
    if policy.max_occurrences is not None:
        numbers["occurrences"] = memory.deliveries
        numbers["max_occurrences"] = policy.max_occurrences
        if memory.deliveries >= policy.max_occurrences:
            return objected("rights", "dropped", "exhausted", numbers)
    if state.suspension is not None and HELD_BY.get(state.suspension.cause) == "rights":
        return objected("rights", "held", state.suspension.cause, numbers | held_by(state.suspension))
    if policy.budgets is not None and state.suspension is None:
        over = exceeded(policy.budgets, state.used, now.database)
        if over is not None:
            return objected("rights", "suspended", "budget", numbers | numbers_of(over))
        numbers["budgets"] = len(policy.budgets.limits)
    return passed("rights", numbers)


def held_by(suspension: Suspension) -> dict[str, Number]:
    """What is said of an event that arrives while a suspension is open."""
    return {
        "cause": suspension.cause,
        "suspension": suspension.id,
        "since": suspension.at,
        "subject": suspension.subject,
    }
