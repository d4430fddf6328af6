"""The ledger: the rows that the guards remember, evolving as one event after the other is decided.

Live it is loaded for a batch of arrivals and forgotten after the commit; in a simulation it grows.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards import changes as c
from sereno.execution_plane.guards import flush, storm
from sereno.execution_plane.guards.account import Account
from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.batch import BatchItem, BatchKey, OpenBatch
from sereno.execution_plane.guards.budget import Reservation, Settlement, bury, settle
from sereno.execution_plane.guards.dedup import BODY_WINDOW
from sereno.execution_plane.guards.effects import changes_of_settlement
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.order import run
from sereno.execution_plane.guards.passage import Given, Passage
from sereno.execution_plane.guards.patience import Patience
from sereno.execution_plane.guards.pause import pause_of
from sereno.execution_plane.guards.resumption import re_arm
from sereno.execution_plane.guards.state import (
    NOBODY,
    NOTHING,
    GuardState,
    Memory,
    Occurrence,
    OccurrenceKey,
    SubjectKey,
    SubjectMemory,
    SubscriptionKey,
)
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.suspension import Suspension
from sereno.mailbox.scope import Scope
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.rate import Money
from sereno.subscriptions.rights import Standing

BodyKey = tuple[str, str, str]
"""Tenant, origin of the endpoint, SHA-256 of the body."""
_NONE = Decimal()
# The generated constructors of named tuples take twice as long, and these are made for each event and subscription.
_new = tuple.__new__


@dataclass(frozen=True, slots=True)
class Body:
    """A signed body that came before, and what became of it by subscription."""

    receiptid: str
    expires_at: datetime
    became: Mapping[str, tuple[str, UUID | None]] = field(default_factory=dict)

    def for_subscription(self, name: str) -> Occurrence:
        """The earlier receipt as one subscription sees it."""
        outcome, message = self.became.get(name, ("not matched", None))
        return Occurrence(self.receiptid, outcome, message, self.expires_at)


class Moment(NamedTuple):
    """What every decision of a round shares: the database clock, read once, and until when a tenant's policy holds."""

    database: datetime
    policy_valid_until: datetime | None = None


def occurrence_key(envelope: Envelope, subscription: Subscription) -> OccurrenceKey:
    """Under which key this event counts once for this subscription."""
    return envelope.tenantid, envelope.origin, subscription.name, envelope.dedupkey


@dataclass(slots=True)
class Ledger:
    """Guard state by the keys of its rows; `open_work` counts the messages that are not closed.

    `stops` are the scopes that stand still.
    """

    occurrences: dict[OccurrenceKey, Occurrence] = field(default_factory=dict)
    bodies: dict[BodyKey, Body] = field(default_factory=dict)
    memories: dict[SubscriptionKey, Memory] = field(default_factory=dict)
    subjects: dict[SubjectKey, SubjectMemory] = field(default_factory=dict)
    watches_objects: bool = True
    """False where what is remembered of an object cannot be kept: a storm about one is not seen then."""
    patience: dict[SubscriptionKey, Patience] = field(default_factory=dict)
    budgets: dict[Account, Decimal] = field(default_factory=dict)
    reservations: dict[UUID, Reservation] = field(default_factory=dict)
    batches: dict[BatchKey, OpenBatch] = field(default_factory=dict)
    sealed: dict[UUID, OpenBatch] = field(default_factory=dict)
    items: dict[UUID, list[BatchItem]] = field(default_factory=dict)
    suspensions: dict[SubscriptionKey, tuple[Suspension, ...]] = field(default_factory=dict)
    open_work: dict[c.WorkKey, int] = field(default_factory=dict)
    stops: tuple[Scope, ...] = ()
    _keys: dict[UUID, BatchKey] = field(default_factory=dict)
    _standings: dict[SubscriptionKey, tuple[Subscription, Standing]] = field(default_factory=dict)

    def decide(
        self,
        activation: Activation,
        subscription: Subscription,
        moment: Moment,
        *,
        ancestors: tuple[Ancestor, ...] = (),
        body: Body | None = None,
    ) -> Passage:
        """Send the event through the guards and remember what came of it."""
        envelope, key = activation.envelope, (subscription.tenant, subscription.name)
        memory = self.memories.get(key, NOTHING)
        recorded = envelope.recordedtime
        if memory.last_recorded is not None and memory.last_recorded > recorded:
            recorded = memory.last_recorded
        now = _new(Reading, (recorded, moment.database))
        state = _new(
            GuardState,
            (
                self._standing(subscription, moment.policy_valid_until, memory),
                self.occurrences.get(
                    (envelope.tenantid, envelope.origin, subscription.name, envelope.dedupkey)
                ),
                None if body is None else body.for_subscription(subscription.name),
                ancestors,
                storm.count_arrival(memory, activation, subscription, now),
                self._about(activation, subscription, now),
                self.budgets,
                self.suspension_of(subscription, envelope.subject) if self.suspensions.get(key) else None,
                self.batches.get((subscription.tenant, subscription.name, activation.batch_key or "")),
                pause_of(memory.last_delivered, subscription, recorded=recorded, database=moment.database),
                subscription.when_busy != "queue" and self.is_busy(subscription, activation.serial_key),
                self.stop_of(subscription) if self.stops else None,
            ),
        )
        passage = run(_new(Given, (state, activation, subscription, now)))
        self.apply(passage.changes)
        return passage

    def flush(self, batch: OpenBatch, subscription: Subscription, moment: Moment) -> flush.Flush:
        """Ask what becomes of an open batch now, and remember what came of it."""
        memory = self.memories.get((subscription.tenant, subscription.name), NOTHING)
        state = GuardState(
            self._standing(subscription, moment.policy_valid_until, memory),
            memory=memory,
            used=self.budgets,
            suspension=self.suspension_of(subscription, None),
            busy=self.is_busy(subscription, batch.serial_key),
            stop=self.stop_of(subscription),
        )
        answer = flush.decide(batch, state, subscription, Reading(moment.database, moment.database))
        if not isinstance(answer, flush.Later):
            self.apply(answer.changes)
        return answer

    def apply(self, changes: Iterable[c.Change]) -> None:
        """Evolve the rows by what was decided."""
        evolve = _EVOLVE
        for change in changes:
            evolve[type(change)](self, change)

    def report(self, message: UUID, usage: Sequence[Money]) -> Settlement | None:
        """Reconcile the reservation of a message with what its run reports; None when it has none."""
        return self._settle(message, lambda reservation: settle(reservation, usage))

    def bury(self, message: UUID) -> Settlement | None:
        """Give back what a dead message did not use; None when it has no reservation."""
        return self._settle(message, bury)

    def _settle(self, message: UUID, decide: Callable[[Reservation], Settlement]) -> Settlement | None:
        reservation = self.reservations.get(message)
        if reservation is None:
            return None
        settlement = decide(reservation)
        self.apply(changes_of_settlement(settlement))
        return settlement

    def close_work(self, key: c.WorkKey) -> None:
        """One message less is open."""
        self.open_work[key] = max(0, self.open_work.get(key, 0) - 1)

    def open_batch(self, identity: UUID) -> OpenBatch | None:
        """The batch under this id, if it is not a message yet."""
        sealed = self.sealed.get(identity)
        if sealed is not None or identity not in self._keys:
            return sealed
        return self.batches.get(self._keys[identity])

    def put(self, batch: OpenBatch) -> None:
        """Make this the open batch of its key."""
        self.batches[batch.of] = batch
        self._keys[batch.id] = batch.of

    def batches_of(self, key: SubscriptionKey) -> list[OpenBatch]:
        """The batches of a subscription that are not messages yet, oldest first."""
        every = (*self.sealed.values(), *self.batches.values())
        own = [batch for batch in every if (batch.tenant, batch.subscription) == key]
        return sorted(own, key=lambda batch: batch.opened)

    def forget(self, envelope: Envelope, subscription: str) -> None:
        """Note that what was held fires no more."""
        key = envelope.tenantid, envelope.origin, subscription, envelope.dedupkey
        known = self.occurrences.get(key)
        if known is not None and known.receiptid == envelope.receiptid:
            self.occurrences[key] = known._replace(outcome="dropped")

    def lift(self, key: SubscriptionKey, lifted: Collection[UUID]) -> list[Suspension]:
        """End these suspensions of a subscription and begin anew what tripped them."""
        open_ones = self.suspensions.get(key, ())
        ended = [one for one in open_ones if one.id in lifted]
        self.suspensions[key] = tuple(one for one in open_ones if one.id not in lifted)
        for suspension in ended:
            self.apply(re_arm(suspension, self.memories.get(key, NOTHING)))
        return ended

    def suspension_of(self, subscription: Subscription, subject: str | None) -> Suspension | None:
        """The first open suspension that holds an event about this subject."""
        found = self.suspensions.get((subscription.tenant, subscription.name))
        if not found:
            return None
        return next((one for one in found if one.concerns(subject)), None)

    def is_busy(self, subscription: Subscription, serial_key: str | None) -> bool:
        """Whether a message of the subscription, and of its serial key where there is one, is still open."""
        if subscription.when_busy == "queue":
            return False
        return self.open_work.get((subscription.tenant, subscription.name, serial_key or ""), 0) > 0

    def stop_of(self, subscription: Subscription) -> str | None:
        """The scope of a stop that stands in the way of this subscription."""
        covering = (
            stop
            for stop in self.stops
            if stop.covers(subscription.tenant, subscription.agent, subscription.name, subscription.origin)
        )
        return next(map(str, covering), None)

    def _about(self, activation: Activation, subscription: Subscription, now: Reading) -> SubjectMemory:
        subject = activation.envelope.subject
        if subject is None or not self.watches_objects or not storm.watches(activation, subscription):
            return NOBODY
        known = self.subjects.get((subscription.tenant, subscription.name, subject), NOBODY)
        return storm.count_about(known, activation, subscription, now)

    def _standing(self, subscription: Subscription, valid_until: datetime | None, memory: Memory) -> Standing:
        """How the subscription stands under the policy in force, made once for all events of a round.

        One that has woken as often as it may is exhausted, also before the catalog says so.
        """
        key = subscription.tenant, subscription.name
        most = subscription.max_occurrences
        state = subscription.standing.state
        if most is not None and memory.deliveries >= most and state is State.ACTIVE:
            state = State.EXHAUSTED
        known = self._standings.get(key)
        if (
            known is None
            or known[0] is not subscription
            or known[1].valid_until != valid_until
            or known[1].state is not state
        ):
            known = subscription, replace(subscription.standing, valid_until=valid_until, state=state)
            self._standings[key] = known
        return known[1]

    def live_body(self, key: BodyKey, envelope: Envelope) -> Body | None:
        """The earlier receipt with this body, if its window is still open."""
        body = self.bodies.get(key)
        if body is None or body.receiptid == envelope.receiptid or body.expires_at <= envelope.recordedtime:
            return None
        return body

    def remember_body(self, key: BodyKey, envelope: Envelope, passages: Sequence[Passage]) -> None:
        """Keep a body that its scheme does not date, unless every subscription let the sender try again."""
        if passages and not any(passage.takes_key for passage in passages):
            self.bodies.pop(key, None)
            return
        became = {p.subscription.name: (p.decided.outcome, p.decided.message) for p in passages}
        self.bodies[key] = Body(envelope.receiptid, envelope.recordedtime + BODY_WINDOW, became)


def _batch(ledger: Ledger, change: c.Join | c.Seal | c.Close) -> None:
    batch = change.batch
    if isinstance(change, c.Join):
        ledger.items.setdefault(batch.id, []).append(change.item)
    if isinstance(change, c.Close):
        ledger.items.pop(batch.id, None)
        ledger.sealed.pop(batch.id, None)
    elif batch.sealed:
        ledger.sealed[batch.id] = batch
    else:
        ledger.put(batch)
        return
    key = ledger._keys.pop(batch.id, None)  # noqa: SLF001 - how the ledger evolves is part of it
    if key is not None:
        del ledger.batches[key]


def _reserve(ledger: Ledger, change: c.Reserve) -> None:
    ledger.reservations[change.reservation.message] = change.reservation
    for account, amount in change.reservation.lines:
        ledger.budgets[account] = ledger.budgets.get(account, _NONE) + amount


def _charge(ledger: Ledger, change: c.Charge) -> None:
    ledger.budgets[change.account] = ledger.budgets.get(change.account, _NONE) + change.amount


def _settled(ledger: Ledger, change: c.Settled) -> None:
    if change.reservation.lines:
        ledger.reservations[change.reservation.message] = change.reservation
    else:
        ledger.reservations.pop(change.reservation.message, None)


def _deposit(ledger: Ledger, change: c.Deposit) -> None:
    ledger.open_work[change.key] = ledger.open_work.get(change.key, 0) + 1


def _suspend(ledger: Ledger, change: c.Suspend) -> None:
    owner = change.suspension.tenant, change.suspension.subscription
    ledger.suspensions[owner] = (*ledger.suspensions.get(owner, ()), change.suspension)


def _remember(ledger: Ledger, change: c.Remember) -> None:
    ledger.memories[change.key] = change.memory


def _remember_subject(ledger: Ledger, change: c.RememberSubject) -> None:
    ledger.subjects[change.key] = change.memory


def _remember_patience(ledger: Ledger, change: c.RememberPatience) -> None:
    ledger.patience[change.key] = change.patience


def _take(ledger: Ledger, change: c.Take) -> None:
    ledger.occurrences[change.key] = change.occurrence


def _nothing(ledger: Ledger, change: c.Hold | c.Evaluate) -> None:
    """Rows that no guard reads again."""


_EVOLVE: Mapping[type[c.Change], Callable[[Ledger, Any], None]] = {
    c.Remember: _remember,
    c.RememberSubject: _remember_subject,
    c.RememberPatience: _remember_patience,
    c.Take: _take,
    c.Reserve: _reserve,
    c.Charge: _charge,
    c.Settled: _settled,
    c.Join: _batch,
    c.Seal: _batch,
    c.Close: _batch,
    c.Suspend: _suspend,
    c.Hold: _nothing,
    c.Evaluate: _nothing,
    c.Deposit: _deposit,
}
