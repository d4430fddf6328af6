"""Guard 4: two wake-ups of one subscription are at least its cooldown apart, and none falls into its quiet hours."""

from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.state import GuardState, Memory
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import NOT_CONFIGURED, Number, Verdict, objected, passed


def decide(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Verdict:
    """Object with `quiet_hours` (database clock) or `cooldown` (recorded clock, seconds) where that means dropping.

    With `then: batch` it passes and says why the batch has to wait. A stop and a suspension come first: they hold.
    """
    if policy.cooldown is None and policy.quiet is None:
        return NOT_CONFIGURED["cooldown"]
    numbers = _numbers(state.memory, policy, now)
    if state.stop is not None or state.suspension is not None:
        return passed("cooldown", numbers, "outranked")
    pause = state.pause
    if pause is None:
        return passed("cooldown", numbers)
    numbers["ends"] = pause.ends
    if pause.reason == "quiet_hours":
        numbers["quiet_hours"] = str(policy.quiet)
    if pause.then == "drop":
        return objected("cooldown", "dropped", pause.reason, numbers)
    return passed("cooldown", numbers, pause.reason)


def _numbers(memory: Memory, policy: Subscription, now: Reading) -> dict[str, Number]:
    numbers: dict[str, Number] = {}
    if policy.cooldown is not None:
        numbers["every_seconds"] = policy.cooldown.every.total_seconds()
        if memory.last_delivered is not None:
            numbers["since_last_seconds"] = (now.recorded - memory.last_delivered).total_seconds()
            numbers["last_delivered"] = memory.last_delivered
            numbers["ends"] = memory.last_delivered + policy.cooldown.every
    return numbers
