"""A resolution: everything that one round decided, and all that is to be written of it (pure)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sereno.execution_plane.guards import flush
from sereno.execution_plane.guards.activation import Activation, Entry
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.changes import Change, Join, Seal
from sereno.execution_plane.guards.keyed import activation_of
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.state import OccurrenceKey
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.matcher import Match
from sereno.execution_plane.pipeline.round import Decided, Setting, decide
from sereno.subscriptions.filters import FilterFault

Kind = TypeVar("Kind", bound=Change)
_new = tuple.__new__


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
    decided: list[Decided] = field(default_factory=list)
    """Each arrival with its passages."""
    passages: list[Passage] = field(default_factory=list)
    """One for each arrival and each subscription that it concerns."""
    policies: dict[tuple[str, str], Subscription] = field(default_factory=dict)
    known: Collection[OccurrenceKey] | None = None
    """The dedup keys that were taken before; None when nobody looked."""
    changes: Changes = field(default_factory=Changes)
    """Every row to write, by kind and in the order in which it was decided."""

    @property
    def flushed(self) -> list[Flushed]:
        """Each batch that was asked."""
        return [step for step in self.steps if isinstance(step, Flushed)]

    def decide(self, arrivals: Iterable[Arrival], entry: Entry = "arrival") -> None:
        """Decide each arrival, and at once of each batch that is full because of it."""
        for arrival in _once(arrivals) if entry == "arrival" else arrivals:
            [item] = decide([arrival], self.ledger, self.setting, entry)
            self.steps.append(item)
            self.decided.append(item)
            self.passages += item.passages
            for passage in item.passages:
                self.changes.add(passage.changes)
                policy = passage.subscription
                self.policies[policy.tenant, policy.name] = policy
                for batch in _sealed(passage.changes):
                    self.flush(batch, policy)

    def flush(self, batch: OpenBatch, subscription: Subscription) -> None:
        """Ask a batch whether it becomes a message now."""
        self.policies[subscription.tenant, subscription.name] = subscription
        moment = self.setting.moment(subscription.tenant)
        answer = self.ledger.flush(batch, subscription, moment)
        self.steps.append(Flushed(batch, subscription, answer))
        if not isinstance(answer, flush.Later):
            self.changes.add(answer.changes)


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
    envelope, attributes, matches, sequence = arrival
    keyed = [_match(match, envelope, attributes, entry) for match in matches]
    return _new(Arrival, (envelope, attributes, keyed, sequence))


def _match(match: Match, envelope: Any, attributes: Mapping[str, Any], entry: Entry) -> Match:
    if match.fault is not None:
        return match
    try:
        activation = activation_of(envelope, attributes, match.subscription, entry)
        return _new(Match, (match.subscription, None, activation))
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
