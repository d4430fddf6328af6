"""A resolution: everything that one round decided, and all that is to be written of it (pure)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sereno.execution_plane.guards import flush
from sereno.execution_plane.guards.activation import Activation, Entry
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.changes import Change, Join, Seal
from sereno.execution_plane.guards.keyed import activation_of
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.matcher import Match
from sereno.execution_plane.pipeline.round import Decided, Setting, decide
from sereno.subscriptions.filters import FilterFault

Kind = TypeVar("Kind", bound=Change)


@dataclass(frozen=True, slots=True)
class Flushed:
    """A batch that was asked whether it becomes a message, and what it answered."""

    batch: OpenBatch
    subscription: Subscription
    answer: flush.Flush


class Changes:
    """Rows to write, by their kind: each kind is asked for once, and there are thousands of rows."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self._by_kind: dict[type[Any], list[Any]] = {}
        self.add(changes)

    def add(self, changes: Iterable[Change]) -> None:
        """Take these in behind the others."""
        by_kind = self._by_kind
        for change in changes:
            kind = type(change)
            if kind in by_kind:
                by_kind[kind].append(change)
            else:
                by_kind[kind] = [change]

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Those of one kind, in order."""
        return self._by_kind.get(kind, [])


@dataclass(slots=True)
class Resolution:
    """What was decided of arrivals and of batches, in order, on one ledger."""

    ledger: Ledger
    setting: Setting
    steps: list[Decided | Flushed] = field(default_factory=list)
    policies: dict[tuple[str, str], Subscription] = field(default_factory=dict)
    extra: list[Change] = field(default_factory=list)
    """Changes that no passage and no batch led to."""

    @property
    def decided(self) -> list[Decided]:
        """Each arrival with its passages."""
        return [step for step in self.steps if isinstance(step, Decided)]

    @property
    def flushed(self) -> list[Flushed]:
        """Each batch that was asked."""
        return [step for step in self.steps if isinstance(step, Flushed)]

    @property
    def passages(self) -> list[Passage]:
        """One for each arrival and each subscription that it concerns."""
        return [passage for item in self.decided for passage in item.passages]

    def changes(self) -> Changes:
        """Every row to write, by kind and in the order in which it was decided."""
        found = Changes()
        found.add(self.extra)
        for step in self.steps:
            if isinstance(step, Decided):
                for passage in step.passages:
                    found.add(passage.changes)
            elif not isinstance(step.answer, flush.Later):
                found.add(step.answer.changes)
        return found

    def decide(self, arrivals: Iterable[Arrival], entry: Entry = "arrival") -> None:
        """Decide each arrival, and at once of each batch that is full because of it."""
        for arrival in _once(arrivals) if entry == "arrival" else arrivals:
            [item] = decide([arrival], self.ledger, self.setting, entry)
            self.steps.append(item)
            for passage in item.passages:
                policy = passage.subscription
                self.policies[policy.tenant, policy.name] = policy
                for batch in _sealed(passage.changes):
                    self.flush(batch, policy)

    def flush(self, batch: OpenBatch, subscription: Subscription) -> None:
        """Ask a batch whether it becomes a message now."""
        self.policies[subscription.tenant, subscription.name] = subscription
        moment = self.setting.moment(subscription.tenant)
        self.steps.append(Flushed(batch, subscription, self.ledger.flush(batch, subscription, moment)))


def _once(arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
    seen: set[tuple[str, str]] = set()
    for arrival in arrivals:
        key = arrival.envelope.tenantid, arrival.envelope.receiptid
        if key not in seen:
            seen.add(key)
            yield arrival


def _sealed(changes: Iterable[Change]) -> list[OpenBatch]:
    return [change.batch for change in changes if isinstance(change, Join | Seal) and change.batch.sealed]


def keyed(arrivals: Iterable[Arrival], entry: Entry = "arrival") -> list[Arrival]:
    """The arrivals with the keys taken that their subscriptions ask for; what cannot be taken is left to the round."""
    return [_keyed(arrival, entry) for arrival in arrivals]


def _keyed(arrival: Arrival, entry: Entry) -> Arrival:
    envelope, attributes = arrival.envelope, arrival.attributes
    return arrival._replace(matches=[_match(match, envelope, attributes, entry) for match in arrival.matches])


def _match(match: Match, envelope: Any, attributes: Mapping[str, Any], entry: Entry) -> Match:
    if match.fault is not None:
        return match
    try:
        return match._replace(activation=activation_of(envelope, attributes, match.subscription, entry))
    except FilterFault:
        return match


def concerned(arrivals: Sequence[Arrival]) -> list[tuple[Activation, Subscription]]:
    """Every activation of these arrivals that can be decided, with its subscription."""
    return [
        (match.activation, match.subscription)
        for arrival in arrivals
        for match in arrival.matches
        if match.activation is not None
    ]
