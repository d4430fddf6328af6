"""A round: the arrivals of one transaction, decided one after the other on the evolving ledger (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.passage import Ancestor, Given, GuardState, Passage, Reading
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.mailbox.message import Message, SubscriptionRef
from sereno.mailbox.scope import Scope
from sereno.subscriptions.report import Activity, ActivityReport

FILTER_FAULT = "filter_fault"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a round is decided upon besides the ledger: the database clock, each tenant's policy, the causes,
    what stands still.
    """

    database: datetime
    policy_valid_until: Mapping[str, datetime]
    causes: Mapping[tuple[str, str], tuple[Ancestor, ...]] = field(default_factory=dict)
    stops: Sequence[Scope] = ()

    def stop_of(self, subscription: Subscription) -> str | None:
        """The first stop that stands in the way of this subscription."""
        stands = (
            s for s in self.stops if s.covers(subscription.tenant, subscription.agent, subscription.name)
        )
        return next(map(str, stands), None)

    def ancestors(self, arrival: Arrival) -> tuple[Ancestor, ...]:
        """The messages that led to this event."""
        cause = arrival.envelope.causationid
        return () if cause is None else self.causes.get((arrival.envelope.tenantid, cause), ())


@dataclass(frozen=True, slots=True)
class Decided:
    """One arrival with its passages, one for each subscription it concerns; `duplicate_of` is an earlier receipt
    with the same signed body.
    """

    arrival: Arrival
    passages: Sequence[Passage]
    duplicate_of: str | None


def decide(arrivals: Iterable[Arrival], ledger: Ledger, setting: Setting) -> list[Decided]:
    """Every arrival decided in order; a receipt that comes twice is decided once."""
    seen: set[str] = set()
    decided = []
    for arrival in arrivals:
        if arrival.envelope.receiptid not in seen:
            seen.add(arrival.envelope.receiptid)
            decided.append(_decide(arrival, ledger, setting))
    return decided


def _decide(arrival: Arrival, ledger: Ledger, setting: Setting) -> Decided:
    envelope, key = arrival.envelope, arrival.body_key
    body = None if key is None else ledger.live_body(key, envelope)
    passages = []
    for match in arrival.matches:
        if match.fault is not None:
            passages.append(failed(envelope, match.subscription, setting.database, FILTER_FAULT, match.fault))
            continue
        passages.append(
            ledger.decide(
                envelope,
                match.subscription,
                database=setting.database,
                policy_valid_until=setting.policy_valid_until.get(envelope.tenantid),
                ancestors=setting.ancestors(arrival),
                body=body,
                stop=setting.stop_of(match.subscription),
            )
        )
    if key is not None and body is None:
        ledger.remember_body(key, envelope, passages)
    return Decided(arrival, passages, None if body is None else body.receiptid)


def failed(
    envelope: Envelope, subscription: Subscription, database: datetime, reason: str, fault: str
) -> Passage:
    """The passage of an event that came to no guard, since it cannot be decided."""
    clock = Reading(envelope.recordedtime, database)
    given = Given(envelope, subscription, clock, GuardState(), subscription.standing)
    return Passage(given).fails(reason, fault)


def message_of(passage: Passage, attributes: Mapping[str, object]) -> Message:
    """The message that a delivered passage becomes; its instruction is the subscription's, byte for byte."""
    envelope, subscription = passage.envelope, passage.subscription
    message = passage.decided.message
    if message is None:
        raise ValueError("only a delivered passage becomes a message")
    trace = {"traceparent": envelope.traceparent, "tracestate": envelope.tracestate}
    return Message(
        id=message,
        tenant=envelope.tenantid,
        agent=subscription.agent,
        subscription=SubscriptionRef(subscription.name, subscription.version),
        instruction=subscription.instruction,
        envelopes=[attributes],
        priority=subscription.priority,
        max_attempts=subscription.max_attempts,
        lease_seconds=subscription.lease.total_seconds(),
        max_run_seconds=subscription.max_run.total_seconds(),
        max_age_seconds=subscription.max_age.total_seconds(),
        lineage=[{"message": a.message, "agent": a.agent} for a in passage.given.state.ancestors],
        context={
            "on_behalf_of": envelope.onbehalfof,
            "attributed_to": subscription.owner,
            "workspace": subscription.workspace,
            "trace": {name: value for name, value in trace.items() if value is not None},
        },
    )


def reports(decided: Iterable[Decided], at: datetime) -> list[ActivityReport]:
    """One report a tenant: how often each subscription came to each outcome in this round."""
    counts: Counter[tuple[str, str, str]] = Counter(
        (p.envelope.tenantid, p.subscription.name, p.decided.outcome)
        for item in decided
        for p in item.passages
    )
    by_tenant: dict[str, list[Activity]] = {}
    for (tenant, subscription, outcome), count in sorted(counts.items()):
        activity = Activity.model_validate(
            {"subscription": subscription, "outcome": outcome, "count": count, "last_at": at}
        )
        by_tenant.setdefault(tenant, []).append(activity)
    return [ActivityReport(tenant=tenant, items=tuple(items)) for tenant, items in by_tenant.items()]


def cause_ids(arrivals: Iterable[Arrival]) -> list[tuple[str, UUID]]:
    """The messages named as causes, of which the guards need the lineage."""
    found = set()
    for arrival in arrivals:
        if arrival.envelope.causationid is not None:
            try:
                found.add((arrival.envelope.tenantid, UUID(arrival.envelope.causationid)))
            except ValueError:
                continue
    return sorted(found)
