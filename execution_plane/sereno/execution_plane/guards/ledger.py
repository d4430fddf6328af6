"""The ledger: what the guards remember across passages; live it is loaded for a batch, in a simulation it grows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards.dedup import BODY_WINDOW, remembers, window
from sereno.execution_plane.guards.order import run
from sereno.execution_plane.guards.passage import Ancestor, Given, GuardState, Occurrence, Passage, Reading
from sereno.execution_plane.guards.subscription import Subscription
from sereno.subscriptions.rights import Standing

OccurrenceKey = tuple[str, str, str, str]
"""Tenant, origin, subscription, dedup key."""
BodyKey = tuple[str, str, str]
"""Tenant, origin of the endpoint, SHA-256 of the body."""
SubscriptionKey = tuple[str, str]
"""Tenant, name."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What one subscription leaves for its next event."""

    last_recorded: datetime | None = None
    last_delivered: datetime | None = None
    deliveries: int = 0


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


def occurrence_key(envelope: Envelope, subscription: Subscription) -> OccurrenceKey:
    """Under which key this event counts once for this subscription."""
    return envelope.tenantid, envelope.origin, subscription.name, envelope.dedupkey


@dataclass(slots=True)
class Ledger:
    """Guard state that evolves as one event after the other is decided."""

    occurrences: dict[OccurrenceKey, Occurrence] = field(default_factory=dict)
    bodies: dict[BodyKey, Body] = field(default_factory=dict)
    memories: dict[SubscriptionKey, Memory] = field(default_factory=dict)
    _standings: dict[SubscriptionKey, tuple[Subscription, Standing]] = field(default_factory=dict)

    def decide(
        self,
        envelope: Envelope,
        subscription: Subscription,
        *,
        database: datetime,
        policy_valid_until: datetime | None,
        ancestors: tuple[Ancestor, ...] = (),
        body: Body | None = None,
        stop: str | None = None,
    ) -> Passage:
        """Send the event through the guards and remember what came of it."""
        memory = self.memories.get((envelope.tenantid, subscription.name), Memory())
        recorded = max(memory.last_recorded or envelope.recordedtime, envelope.recordedtime)
        clock = Reading(recorded, database)
        state = GuardState(
            same_key=self.occurrences.get(occurrence_key(envelope, subscription)),
            same_body=None if body is None else body.for_subscription(subscription.name),
            ancestors=ancestors,
            last_delivered=memory.last_delivered,
        )
        standing = self._standing(subscription, policy_valid_until)
        passage = run(Passage(Given(envelope, subscription, clock, state, standing, stop)))
        self._evolve(passage, memory)
        return passage

    def _standing(self, subscription: Subscription, valid_until: datetime | None) -> Standing:
        """How the subscription stands under the policy in force, made once for all events of a round."""
        key = subscription.tenant, subscription.name
        known = self._standings.get(key)
        if known is None or known[0] is not subscription or known[1].valid_until != valid_until:
            known = subscription, replace(subscription.standing, valid_until=valid_until)
            self._standings[key] = known
        return known[1]

    def _evolve(self, passage: Passage, memory: Memory) -> None:
        envelope, subscription, recorded = (
            passage.envelope,
            passage.subscription,
            passage.given.clock.recorded,
        )
        decision = passage.decided
        delivered = decision.outcome == "delivered"
        self.memories[envelope.tenantid, subscription.name] = Memory(
            recorded,
            recorded if delivered else memory.last_delivered,
            memory.deliveries + delivered,
        )
        if remembers(passage):
            self.occurrences[occurrence_key(envelope, subscription)] = Occurrence(
                envelope.receiptid,
                decision.outcome,
                decision.message,
                recorded + window(envelope.dedupkey),
            )

    def live_body(self, key: BodyKey, envelope: Envelope) -> Body | None:
        """The earlier receipt with this body, if its window is still open."""
        body = self.bodies.get(key)
        if body is None or body.receiptid == envelope.receiptid or body.expires_at <= envelope.recordedtime:
            return None
        return body

    def remember_body(self, key: BodyKey, envelope: Envelope, passages: Sequence[Passage]) -> None:
        """Keep a body that its scheme does not date, unless every subscription let the sender try again."""
        if passages and not any(remembers(passage) for passage in passages):
            self.bodies.pop(key, None)
            return
        became = {p.subscription.name: (p.decided.outcome, p.decided.message) for p in passages}
        self.bodies[key] = Body(envelope.receiptid, envelope.recordedtime + BODY_WINDOW, became)
