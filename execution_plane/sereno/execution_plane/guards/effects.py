"""Effects: the changes that follow from a decision, as rows to write."""

from sereno.execution_plane.guards import batching
from sereno.execution_plane.guards.budget import Reservation, Settlement
from sereno.execution_plane.guards.changes import (
    Change,
    Charge,
    Deposit,
    Evaluate,
    Hold,
    Join,
    Remember,
    RememberSubject,
    Reserve,
    Seal,
    Settled,
    Suspend,
    Take,
)
from sereno.execution_plane.guards.condition import Evaluation
from sereno.execution_plane.guards.dedup import window
from sereno.execution_plane.guards.passage import Decision, Given, takes_key
from sereno.execution_plane.guards.state import NOBODY, Memory, Occurrence
from sereno.execution_plane.guards.suspension import Cause, Suspension, suspension_id

_new = tuple.__new__


def changes_of(given: Given, decided: Decision) -> tuple[Change, ...]:
    """Everything that a decision writes besides its verdict row."""
    changes: list[Change] = [_remember(given, decided)]
    match decided.outcome:
        case "delivered":
            changes += _delivered(given, decided)
        case "merged":
            changes += _merged(given)
        case "suspended":
            suspension = _suspension(given, decided)
            changes += [Suspend(suspension), _hold(given, decided, suspension)]
        case "held":
            changes.append(_hold(given, decided, given.state.suspension))
        case "awaiting_verdict":
            changes.append(Evaluate(_evaluation(given)))
    if given.state.subject is not NOBODY and given.activation.envelope.subject is not None:
        key = given.subscription.tenant, given.subscription.name, given.activation.envelope.subject
        changes.append(_new(RememberSubject, (key, given.state.subject)))
    if takes_key(decided):
        changes.append(_take(given, decided))
    return tuple(changes)


def _remember(given: Given, decided: Decision) -> Remember:
    memory, recorded = given.state.memory, given.clock.recorded
    if decided.outcome == "delivered":
        after = _new(Memory, (recorded, recorded, memory.deliveries + 1, memory.arrivals))
    else:
        after = _new(Memory, (recorded, memory.last_delivered, memory.deliveries, memory.arrivals))
    return _new(Remember, ((given.subscription.tenant, given.subscription.name), after))


def _take(given: Given, decided: Decision) -> Take:
    envelope = given.activation.envelope
    expires = envelope.recordedtime + window(envelope.dedupkey)
    occurrence = _new(Occurrence, (envelope.receiptid, decided.outcome, decided.message, expires))
    key = envelope.tenantid, envelope.origin, given.subscription.name, envelope.dedupkey
    return _new(Take, (key, occurrence))


def _delivered(given: Given, decided: Decision) -> list[Change]:
    subscription, message = given.subscription, decided.message
    if message is None:
        raise AssertionError("what is delivered is a message")
    work = subscription.tenant, subscription.name, given.activation.serial_key or ""
    deposit = _new(Deposit, (work, message))
    if subscription.budgets is None:
        return [deposit]
    lines = subscription.budgets.lines(given.clock.database)
    return [_new(Reserve, (_new(Reservation, (subscription.tenant, message, lines, ())),)), deposit]


def _merged(given: Given) -> list[Change]:
    joined = batching.join(given.state, given.activation, given.subscription, given.clock)
    sealed: list[Change] = [] if joined.sealed is None else [Seal(joined.sealed)]
    return [*sealed, Join(joined.batch, joined.item)]


def _suspension(given: Given, decided: Decision) -> Suspension:
    cause: Cause = "budget" if decided.guard == "rights" else "storm"
    envelope, at = given.activation.envelope, given.clock.database
    return Suspension(
        suspension_id(at, envelope.tenantid, given.subscription.name, cause, envelope.receiptid),
        envelope.tenantid,
        given.subscription.name,
        cause,
        at,
        envelope.receiptid,
        decided.numbers,
        envelope.subject if decided.numbers.get("scope") == "object" else None,
    )


def _hold(given: Given, decided: Decision, suspension: Suspension | None) -> Hold:
    named = suspension if decided.reason != "stopped" else None
    return Hold(
        given.subscription.tenant,
        given.subscription.name,
        given.activation.envelope.receiptid,
        decided.reason if named is None else named.cause,
        None if named is None else named.id,
    )


def _evaluation(given: Given) -> Evaluation:
    subscription, activation = given.subscription, given.activation
    if subscription.condition is None:
        raise AssertionError("only a condition is judged")
    return Evaluation(
        subscription.tenant,
        subscription.name,
        subscription.version,
        activation.envelope.receiptid,
        subscription.condition.text,
        activation.attributes,
        given.state.ancestors,
        given.clock.database,
    )


def changes_of_settlement(settlement: Settlement) -> list[Change]:
    """What a settled reservation writes."""
    return [*(Charge(*line) for line in settlement.lines), Settled(settlement.reservation, settlement.kept)]
