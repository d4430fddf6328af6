"""Effects: the changes that follow from a decided passage, as rows to write."""

from uuid import UUID

from sereno.execution_plane.guards import batching, storm
from sereno.execution_plane.guards.budget import Reservation, Settlement, lines_of
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
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.state import Memory, Occurrence
from sereno.execution_plane.guards.suspension import Cause, Suspension, suspension_id


def of_passage(passage: Passage) -> tuple[Change, ...]:
    """Everything that a decided passage writes besides its verdict row."""
    outcome = passage.decided.outcome
    if passage.decided.guard == "match":
        return ()
    changes: list[Change] = [_remember(passage)]
    if outcome == "delivered":
        changes += _delivered(passage)
    elif outcome == "merged":
        changes += _merged(passage)
    elif outcome == "suspended":
        suspension = _suspension(passage)
        changes += [Suspend(suspension), _hold(passage, suspension)]
    elif outcome == "held":
        changes.append(_hold(passage, passage.given.state.suspension))
    elif outcome == "awaiting_verdict":
        changes.append(Evaluate(_evaluation(passage)))
    changes += _subject(passage)
    if passage.takes_key:
        changes.append(_take(passage))
    return tuple(changes)


def _remember(passage: Passage) -> Remember:
    memory, recorded = passage.given.state.memory, passage.given.clock.recorded
    delivered = passage.decided.outcome == "delivered"
    after = Memory(
        recorded,
        recorded if delivered else memory.last_delivered,
        memory.deliveries + delivered,
        memory.arrivals,
    )
    return Remember((passage.subscription.tenant, passage.subscription.name), after)


def _subject(passage: Passage) -> list[Change]:
    given = passage.given
    envelope, subscription = given.activation.envelope, given.subscription
    if envelope.subject is None or not storm.watches(given.activation, subscription):
        return []
    return [RememberSubject((subscription.tenant, subscription.name, envelope.subject), given.state.subject)]


def _take(passage: Passage) -> Take:
    envelope, decision = passage.envelope, passage.decided
    occurrence = Occurrence(
        envelope.receiptid,
        decision.outcome,
        decision.message,
        passage.given.clock.recorded + window(envelope.dedupkey),
    )
    key = envelope.tenantid, envelope.origin, passage.subscription.name, envelope.dedupkey
    return Take(key, occurrence)


def _delivered(passage: Passage) -> list[Change]:
    subscription, message = passage.subscription, passage.decided.message
    if message is None:
        raise AssertionError("what is delivered is a message")
    changes: list[Change] = []
    if subscription.budgets:
        changes.append(Reserve(_reservation(passage, message)))
    serial = passage.given.activation.serial_key or ""
    changes.append(Deposit((subscription.tenant, subscription.name, serial), message))
    return changes


def _reservation(passage: Passage, message: UUID) -> Reservation:
    subscription, at = passage.subscription, passage.given.clock.database
    lines = lines_of(subscription.budgets, subscription.tenant, subscription.tenancy.zone, at)
    return Reservation(subscription.tenant, message, lines)


def _merged(passage: Passage) -> list[Change]:
    given = passage.given
    joined = batching.join(given.state, given.activation, given.subscription, given.clock)
    sealed: list[Change] = [] if joined.sealed is None else [Seal(joined.sealed)]
    return [*sealed, Join(joined.batch, joined.item)]


def _suspension(passage: Passage) -> Suspension:
    cause: Cause = "budget" if passage.decided.guard == "rights" else "storm"
    envelope, numbers, at = passage.envelope, passage.decided.numbers, passage.given.clock.database
    return Suspension(
        suspension_id(at, envelope.tenantid, passage.subscription.name, cause, envelope.receiptid),
        envelope.tenantid,
        passage.subscription.name,
        cause,
        at,
        envelope.receiptid,
        numbers,
        envelope.subject if numbers.get("scope") == "object" else None,
    )


def _hold(passage: Passage, suspension: Suspension | None) -> Hold:
    decided, envelope = passage.decided, passage.envelope
    named = suspension if suspension is not None and decided.reason != "stopped" else None
    return Hold(
        envelope.tenantid,
        passage.subscription.name,
        envelope.receiptid,
        decided.reason if named is None else named.cause,
        None if named is None else named.id,
    )


def _evaluation(passage: Passage) -> Evaluation:
    subscription, envelope = passage.subscription, passage.envelope
    if subscription.condition is None:
        raise AssertionError("only a condition is judged")
    return Evaluation(
        envelope.tenantid,
        subscription.name,
        subscription.version,
        envelope.receiptid,
        subscription.condition.text,
        passage.attributes,
        passage.given.state.ancestors,
        passage.given.clock.database,
    )


def changes_of(settlement: Settlement) -> list[Change]:
    """What a settled reservation writes."""
    return [*(Charge(*line) for line in settlement.lines), Settled(settlement.reservation)]
