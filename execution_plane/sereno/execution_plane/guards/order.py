"""The order of the guards: fixed, and the first that objects decides."""

from collections.abc import Callable
from uuid import UUID

from sereno.execution_plane.guards import batching, cooldown, cycle, dedup, delivery, rights, storm
from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.condition import awaits
from sereno.execution_plane.guards.effects import changes_of
from sereno.execution_plane.guards.passage import Decision, Given, Passage
from sereno.execution_plane.guards.state import GuardState
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import (
    GUARD_NAMES,
    NOT_REACHED,
    GuardName,
    Number,
    Numbers,
    Verdict,
)

Guard = Callable[[GuardState, Activation, Subscription, Reading], Verdict]

GUARDS: tuple[tuple[GuardName, Guard], ...] = (
    ("dedup", dedup.decide),  #       did this occurrence come before?
    ("cycle", cycle.decide),  #       is the agent itself among its causes?
    ("rights", rights.decide),  #     may this subscription wake anybody now, and is there budget?
    ("cooldown", cooldown.decide),  # did it wake too recently, or is it night?
    ("batching", batching.decide),  # should it wait for its like?
    ("delivery", delivery.decide),  # into the mailbox, unless everything stands still
    ("storm", storm.decide),  #       were there too many? (its verdict still comes before the write)
)
_new = tuple.__new__
_DELIVERY = GUARD_NAMES.index("delivery")
BEFORE_JUDGEMENT = 3
"""A candidate of a condition passes so many guards before it is judged; the event of its verdict passes all."""


def run(given: Given) -> Passage:
    """The passage after all seven guards; those behind the first objection are recorded as not reached."""
    state, activation, policy, now = given.state, given.activation, given.subscription, given.clock
    waits = awaits(activation, policy)
    verdicts: list[Verdict] = []
    for _, decide in GUARDS[:BEFORE_JUDGEMENT] if waits else GUARDS:
        verdict = decide(state, activation, policy, now)
        verdicts.append(verdict)
        if verdict.outcome is not None:
            return _closed(given, verdicts, verdict)
    if waits:
        return _judged(given, verdicts)
    numbers = verdicts[_DELIVERY].numbers
    decision = _new(
        Decision, ("delivered", "delivery", "delivered", numbers, _identity(numbers, "message"), None)
    )
    return _new(Passage, (given, tuple(verdicts), decision, changes_of(given, decision)))


def _identity(numbers: Numbers, name: str) -> UUID | None:
    found = numbers.get(name)
    return found if isinstance(found, UUID) else None


def _judged(given: Given, verdicts: list[Verdict]) -> Passage:
    """A candidate that passed what comes before its judgement; while it would be held nobody is asked to judge it."""
    held = delivery.hold(given.state)
    if held is not None:
        place = GUARD_NAMES.index(held.guard)
        skipped = [NOT_REACHED[name] for name in GUARD_NAMES[BEFORE_JUDGEMENT:place]]
        return _closed(given, [*verdicts, *skipped, held], held)
    condition = given.subscription.condition
    numbers: dict[str, Number] = {} if condition is None else {"min_confidence": condition.min_confidence}
    behind = [NOT_REACHED[name] for name in GUARD_NAMES[BEFORE_JUDGEMENT:]]
    decision = Decision("awaiting_verdict", "condition", "awaiting_verdict", numbers)
    return Passage(given, (*verdicts, *behind), decision, changes_of(given, decision))


def _closed(given: Given, verdicts: list[Verdict], last: Verdict) -> Passage:
    if last.outcome is None or last.reason is None:
        raise AssertionError("an objection has an outcome and a reason")
    behind = [NOT_REACHED[name] for name in GUARD_NAMES[len(verdicts) :]]
    batch = _identity(last.numbers, "batch")
    decision = Decision(last.outcome, last.guard, last.reason, last.numbers, batch=batch)
    return Passage(given, (*verdicts, *behind), decision, changes_of(given, decision))
