"""Guard 7: a burst of arrivals suspends the subscription, or the one object that it is about, before it is written.

Arrivals are counted before the first guard, so what the others drop counts too; signals that fill in for missed
instants and what was held before do not. The first `threshold` of a window leave, the next one suspends, and what
arrives later is held until a person says what becomes of it.
"""

from datetime import timedelta

from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.delivery import hold
from sereno.execution_plane.guards.recent import counted
from sereno.execution_plane.guards.state import NOBODY, GuardState, Memory, SubjectMemory
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import NOT_CONFIGURED, Number, Verdict, objected, passed

# Without genealogy a loop shows as two actors taking turns about one object; as many turns as a chain may be long.
TURNS_WINDOW = timedelta(hours=1)
_new = tuple.__new__


def decide(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Verdict:
    """Object with `storm`: too many arrivals of the subscription, or about one subject, or two actors taking turns."""
    held = None if state.stop is None and state.suspension is None else hold(state)
    if held is not None:
        return held
    if not counts(activation):
        return passed("storm", {"counted": False})
    over = _subscription(state, policy)
    if over is None and state.subject is not NOBODY:
        over = _subject(state, activation, policy) or _turns(state, activation, policy)
    if over is not None:
        return objected("storm", "suspended", "storm", over)
    if policy.storm is None or state.memory.arrivals is None:
        return NOT_CONFIGURED["storm"]
    return passed("storm", {"arrivals": state.memory.arrivals.total, "threshold": policy.storm.most})


def counts(activation: Activation) -> bool:
    """Whether it says something of a storm: a burst that was held, or missed, does not trip it again."""
    return activation.entry != "held" and not activation.is_catch_up


def _subscription(state: GuardState, policy: Subscription) -> dict[str, Number] | None:
    arrivals = state.memory.arrivals
    if policy.storm is None or arrivals is None or arrivals.total <= policy.storm.most:
        return None
    return {
        "scope": "subscription",
        "arrivals": arrivals.total,
        "threshold": policy.storm.most,
        "window_seconds": policy.storm.window.total_seconds(),
    }


def _subject(state: GuardState, activation: Activation, policy: Subscription) -> dict[str, Number] | None:
    limit, arrivals = policy.storm_per_object, state.subject.arrivals
    if limit is None or arrivals is None or arrivals.total <= limit.most:
        return None
    return {
        "scope": "object",
        "subject": activation.envelope.subject,
        "arrivals": arrivals.total,
        "threshold": limit.most,
        "window_seconds": limit.window.total_seconds(),
    }


def _turns(state: GuardState, activation: Activation, policy: Subscription) -> dict[str, Number] | None:
    turns = state.subject.turns
    if turns is None or turns.total <= policy.tenancy.max_chain:
        return None
    return {
        "scope": "object",
        "subject": activation.envelope.subject,
        "turns": turns.total,
        "threshold": policy.tenancy.max_chain,
        "actors": [str(state.subject.actor_before), str(state.subject.actor)],
        "window_seconds": TURNS_WINDOW.total_seconds(),
    }


def count_arrival(memory: Memory, activation: Activation, policy: Subscription, now: Reading) -> Memory:
    """The memory of the subscription after one more arrival."""
    if policy.storm is None or not counts(activation):
        return memory
    arrivals = counted(memory.arrivals, now.recorded, policy.storm.window)
    return _new(Memory, (memory.last_recorded, memory.last_delivered, memory.deliveries, arrivals))


def watches(activation: Activation, policy: Subscription) -> bool:
    """Whether the guard remembers anything of the object that the event is about."""
    envelope = activation.envelope
    if envelope.subject is None or not counts(activation):
        return False
    return policy.storm_per_object is not None or _may_loop(activation)


def count_about(
    memory: SubjectMemory, activation: Activation, policy: Subscription, now: Reading
) -> SubjectMemory:
    """The memory of the object after one more arrival about it."""
    arrivals, turns, actor = memory.arrivals, memory.turns, activation.envelope.actor
    if policy.storm_per_object is not None:
        arrivals = counted(arrivals, now.recorded, policy.storm_per_object.window)
    if actor == memory.actor or not _may_loop(activation):
        return SubjectMemory(arrivals, memory.actor, memory.actor_before, turns)
    if actor == memory.actor_before:
        turns = counted(turns, now.recorded, TURNS_WINDOW)
    return _new(SubjectMemory, (arrivals, actor, memory.actor, turns))


def _may_loop(activation: Activation) -> bool:
    """Whether its actor may be a machine that answers another: people talk to each other for as long as they like."""
    envelope = activation.envelope
    return envelope.actor is not None and not (envelope.actorid or "").startswith("user:")
