"""A round: the arrivals of one transaction, decided one after the other on the evolving ledger (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from sereno.execution_plane.guards.activation import Activation, Entry, Reading, is_verdict
from sereno.execution_plane.guards.condition import candidate_of
from sereno.execution_plane.guards.keyed import activation_of
from sereno.execution_plane.guards.ledger import Body, Ledger, Moment
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.passage import Given, Passage, failed
from sereno.execution_plane.guards.state import GuardState
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.matcher import Match
from sereno.subscriptions.filters import FilterFault
from sereno.subscriptions.report import Activity, ActivityReport

FILTER_FAULT = "filter_fault"
KEY_FAULT = "key_fault"
NO_CAUSES: Mapping[tuple[str, str], tuple[Ancestor, ...]] = {}


class Setting(NamedTuple):
    """What a round is decided upon besides the ledger: the database clock, each tenant's policy, the causes."""

    database: datetime
    policy_valid_until: Mapping[str, datetime]
    causes: Mapping[tuple[str, str], tuple[Ancestor, ...]] = NO_CAUSES

    def moment(self, tenant: str) -> Moment:
        """What the guards are told of the round for one tenant."""
        return Moment(self.database, self.policy_valid_until.get(tenant))

    def ancestors(self, arrival: Arrival) -> tuple[Ancestor, ...]:
        """The messages that led to this event."""
        cause = cause_of(arrival)
        return () if cause is None else self.causes.get((arrival.envelope.tenantid, cause), ())


class Decided(NamedTuple):
    """One arrival with its passages, one for each subscription it concerns; `duplicate_of` is an earlier receipt
    with the same signed body.
    """

    arrival: Arrival
    passages: Sequence[Passage]
    duplicate_of: str | None


def decide(
    arrivals: Iterable[Arrival], ledger: Ledger, setting: Setting, entry: Entry = "arrival"
) -> list[Decided]:
    """Every arrival decided in order; a receipt that comes twice is decided once."""
    seen: set[str] = set()
    decided = []
    for arrival in arrivals:
        if arrival.envelope.receiptid not in seen:
            seen.add(arrival.envelope.receiptid)
            decided.append(_decide(arrival, ledger, setting, entry))
    return decided


def _decide(arrival: Arrival, ledger: Ledger, setting: Setting, entry: Entry) -> Decided:
    envelope, key = arrival.envelope, arrival.body_key
    body = None if key is None else ledger.live_body(key, envelope)
    moment, ancestors = setting.moment(envelope.tenantid), setting.ancestors(arrival)
    decide_one = partial(_passage, arrival, ledger, moment, entry=entry, ancestors=ancestors, body=body)
    passages = [decide_one(match) for match in arrival.matches]
    if key is not None and body is None:
        ledger.remember_body(key, envelope, passages)
    return Decided(arrival, passages, None if body is None else body.receiptid)


def _passage(
    arrival: Arrival,
    ledger: Ledger,
    moment: Moment,
    match: Match,
    *,
    entry: Entry,
    ancestors: tuple[Ancestor, ...],
    body: Body | None,
) -> Passage:
    envelope, subscription = arrival.envelope, match.subscription
    if match.fault is not None:
        return undecided(arrival, subscription, moment.database, FILTER_FAULT, match.fault)
    activation = match.activation
    if activation is None:
        try:
            activation = activation_of(envelope, arrival.attributes, subscription, entry)
        except FilterFault as fault:
            return undecided(arrival, subscription, moment.database, KEY_FAULT, str(fault))
    return ledger.decide(activation, subscription, moment, ancestors=ancestors, body=body)


def undecided(
    arrival: Arrival, subscription: Subscription, database: datetime, reason: str, fault: str
) -> Passage:
    """The passage of an event that came to no guard, since it cannot be decided."""
    clock = Reading(arrival.envelope.recordedtime, database)
    activation = Activation(arrival.envelope, arrival.attributes)
    return failed(Given(GuardState(subscription.standing), activation, subscription, clock), reason, fault)


def activity(counts: Mapping[tuple[str, str, str], int], at: datetime) -> list[ActivityReport]:
    """One report a tenant: how often each subscription came to each outcome (tenant, subscription, outcome)."""
    by_tenant: dict[str, list[Activity]] = {}
    for (tenant, subscription, outcome), count in sorted(counts.items()):
        told = Activity.model_validate(
            {"subscription": subscription, "outcome": outcome, "count": count, "last_at": at}
        )
        by_tenant.setdefault(tenant, []).append(told)
    return [ActivityReport(tenant=tenant, items=tuple(items)) for tenant, items in by_tenant.items()]


def cause_ids(arrivals: Iterable[Arrival]) -> list[tuple[str, UUID]]:
    """The messages named as causes, of which the guards need the lineage."""
    found = set()
    for arrival in arrivals:
        cause = cause_of(arrival)
        if cause is not None:
            try:
                found.add((arrival.envelope.tenantid, UUID(cause)))
            except ValueError:
                continue
    return sorted(found)


def cause_of(arrival: Arrival) -> str | None:
    """The id of what led to this event; of a verdict that is what led to its candidate."""
    envelope = arrival.envelope
    if not is_verdict(envelope):
        return envelope.causationid
    cause = candidate_of(arrival.attributes).get("causationid")
    return cause if isinstance(cause, str) else None
