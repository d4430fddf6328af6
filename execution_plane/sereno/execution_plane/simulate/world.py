"""The world of a simulation: virtual time in which lines happen one after the other, and what each prints."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from sereno.envelope.encode import flat, rfc3339
from sereno.execution_plane.guards.batch import BatchItem, OpenBatch
from sereno.execution_plane.guards.batching import due
from sereno.execution_plane.guards.changes import Join, Seal, Suspend
from sereno.execution_plane.guards.flush import Delivered, Dropped, Frozen, Later
from sereno.execution_plane.guards.ledger import Ledger, Moment
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.state import NOTHING
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.suspension import Suspension
from sereno.execution_plane.listeners.schedule import advance
from sereno.execution_plane.listeners.signal import of_instant
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.matcher import Index, miss
from sereno.execution_plane.pipeline.round import Setting, decide
from sereno.execution_plane.simulate import said
from sereno.execution_plane.simulate.agenda import Agenda, Due, Key
from sereno.execution_plane.simulate.backlog import Backlog
from sereno.execution_plane.simulate.declared import Declared, step
from sereno.execution_plane.simulate.mailbox import Mailbox, Parcel
from sereno.execution_plane.simulate.said import Output
from sereno.mailbox.lease import State as WorkState
from sereno.mailbox.lease import Terms, commands
from sereno.subscriptions.lifecycle import State

SUSPENDED = "suspended"


@dataclass(slots=True)
class World:
    """Subscriptions, ledger, mailboxes and what waits at one virtual moment."""

    subscriptions: dict[Key, Declared]
    show_unmatched: bool = False
    ledger: Ledger = field(default_factory=Ledger)
    mailbox: Mailbox = field(default_factory=Mailbox)
    backlog: Backlog = field(default_factory=Backlog)
    index: Index = field(default_factory=Index)
    agenda: Agenda = field(default_factory=Agenda)
    names: dict[UUID, str] = field(default_factory=dict)
    terms: dict[tuple[str, str, int], Terms] = field(default_factory=dict)
    causes: dict[Key, tuple[Ancestor, ...]] = field(default_factory=dict)
    batches: int = 0
    some_ask_whether_busy: bool = False

    def __post_init__(self) -> None:
        for tenant in {tenant for tenant, _ in self.subscriptions}:
            self.reindex(tenant)
        for key in self.subscriptions:
            self.plan(key)

    def pass_time(self, until: datetime) -> Iterator[Output]:
        """What comes due until then, in order, each at its moment."""
        while (found := self.agenda.next(until)) is not None:
            match found.kind:
                case "1-expiry":
                    yield from self._expire(found)
                case "2-flush" if found.what is not None:
                    yield from self.flush(found.what, found.at)
                case "3-slot":
                    yield from self._slot(found)

    def plan(self, key: Key) -> None:
        """Put the next instant and the expiry of a subscription into the agenda."""
        declared = self.subscriptions[key]
        expires = declared.compiled.standing.expires
        if expires is not None:
            self.agenda.add(Due(expires, "1-expiry", key))
        if declared.schedule is not None and declared.schedule.next_due is not None:
            self.agenda.add(Due(declared.schedule.next_due, "3-slot", key))

    def _expire(self, found: Due) -> Iterator[Output]:
        declared = self.subscriptions[found.key]
        if declared.compiled.standing.expires != found.at or declared.life.state not in _LIVING:
            return
        yield from self.end(declared, "expire", "expires", found.at)

    def end(self, declared: Declared, verb: str, reason: str, at: datetime) -> Iterator[Output]:
        """A subscription ends by time or count; what it collected is still delivered once."""
        after = step(declared, "expire" if verb == "expire" else "exhaust", reason, at)
        self.subscriptions[declared.key] = after
        self.reindex(declared.key[0])
        yield said.state(at, declared.key[1], str(after.life.state), reason)

    def _slot(self, found: Due) -> Iterator[Output]:
        """One nominal instant: the signal that a listener would send, decided at its moment."""
        declared = self.subscriptions[found.key]
        schedule = declared.schedule
        if schedule is None or schedule.next_due != found.at:
            return
        # A slot inside a pause is shown as what the guards say of it.
        after = advance(replace(schedule, paused=False), found.at).schedule
        self.subscriptions[found.key] = replace(
            declared, schedule=replace(schedule, next_due=after.next_due, last_instant=after.last_instant)
        )
        if after.next_due is not None:
            self.agenda.add(Due(after.next_due, "3-slot", found.key))
        name = f"{declared.object.name}@{rfc3339(found.at)}"
        signal = of_instant(schedule, found.at, f"{declared.compiled.origin}#{name}", found.at)
        # People name an instant by its subscription, and in a file there is no other id.
        envelope = replace(signal, id=name)
        attributes = flat(envelope)
        yield from self.arrive(
            Arrival(envelope, attributes, self.index.match(envelope, attributes), 0), found.at
        )

    def arrive(self, arrival: Arrival, at: datetime) -> Iterator[Output]:
        """An event comes: what every subscription that it concerns makes of it, by name."""
        setting = Setting(at, {}, self.causes)
        if self.some_ask_whether_busy:
            self._reap(arrival, at)
        for decided in decide([arrival], self.ledger, setting):
            if not self.show_unmatched:
                for passage in decided.passages:
                    yield from self.decided(passage, arrival, at)
                continue
            matched = {passage.subscription.name: passage for passage in decided.passages}
            for one in self.index.of_tenant(arrival.envelope.tenantid):
                if one.name in matched:
                    yield from self.decided(matched[one.name], arrival, at)
                elif (why := miss(one, arrival.envelope, arrival.attributes)) is not None:
                    yield said.not_matched(at, arrival.envelope.id, one.name, why)

    def _reap(self, arrival: Arrival, at: datetime) -> None:
        """Whether a message is still open is known only when what ran out has been taken back."""
        for match in arrival.matches:
            if match.subscription.when_busy != "queue":
                key = match.subscription.tenant, match.subscription.name
                self.mailbox.of_subscription(*key, commands.Reap(at))
        self.settle_closed(at)

    def decided(self, passage: Passage, arrival: Arrival, at: datetime) -> Iterator[Output]:
        """Do and print what a decided passage means."""
        decision = passage.decided
        message = batch = None
        if decision.message is not None:
            parcel = self._parcel(passage.subscription, decision.message, passage.given.activation.serial_key)
            message = self.deposit(parcel, passage.given.state.ancestors, at)
        elif decision.batch is not None:
            batch = self._batch_name(decision.batch)
        yield said.decision(
            at,
            arrival.envelope.id,
            passage.subscription.name,
            outcome=decision.outcome,
            guard=decision.guard,
            reason=decision.reason,
            message=message,
            batch=batch,
            numbers=said.named(decision.numbers, self.names, message or batch),
        )
        if decision.outcome == "delivered":
            if passage.subscription.max_occurrences is not None:
                yield from self._exhaust(passage.subscription, at)
        elif decision.outcome != "dropped" and passage.changes:
            self.backlog.note(passage, arrival)
            yield from self._follow(passage, at)

    def _follow(self, passage: Passage, at: datetime) -> Iterator[Output]:
        """What a decision sets going: a suspension, or a batch that comes due."""
        for change in passage.changes:
            if isinstance(change, Suspend):
                yield self.suspended(change.suspension, at)
            elif isinstance(change, Join | Seal):
                yield from self._expect(change.batch, at)

    def _expect(self, batch: OpenBatch, at: datetime) -> Iterator[Output]:
        if batch.sealed:
            yield from self.flush(batch.id, at)
        elif batch.items == 1:
            key = batch.tenant, batch.subscription
            memory = self.ledger.memories.get(key, NOTHING)
            when = due(batch, self.subscriptions[key].compiled, memory)
            self.agenda.add(Due(max(when, at), "2-flush", key, batch.id))

    def suspended(self, suspension: Suspension, at: datetime) -> Output:
        """What suspends a subscription as a whole keeps its messages from being claimed; holders may finish."""
        key = suspension.tenant, suspension.subscription
        if suspension.subject is None:
            self.mailbox.of_subscription(*key, commands.Hold(at, SUSPENDED, cancel=False))
        return said.state(at, key[1], SUSPENDED, suspension.cause)

    def _exhaust(self, subscription: Subscription, at: datetime) -> Iterator[Output]:
        key, most = (subscription.tenant, subscription.name), subscription.max_occurrences
        if most is not None and self.ledger.memories[key].deliveries >= most:
            declared = self.subscriptions[key]
            if declared.life.state is State.ACTIVE:
                yield from self.end(declared, "exhaust", "max_occurrences", at)

    def flush(self, batch: UUID, at: datetime) -> Iterator[Output]:
        """Ask what becomes of a batch now."""
        found = self.ledger.open_batch(batch)
        if found is None:
            return
        key = found.tenant, found.subscription
        declared = self.subscriptions[key]
        if declared.compiled.when_busy != "queue":
            self.mailbox.of_subscription(*key, commands.Reap(at))
            self.settle_closed(at, wake=False)
        items = list(self.ledger.items[batch])
        match self.ledger.flush(found, declared.compiled, Moment(at)):
            case Delivered() as flushed:
                parcel = self._parcel(declared.compiled, flushed.message, found.serial_key)
                name = self.deposit(parcel, found.ancestors, at)
                yield said.flush(at, key[1], self._batch_name(batch), _events(items), name)
                yield from self._exhaust(declared.compiled, at)
            case Dropped(reason):
                yield from self._dropped(found, items, reason, at)
            case Frozen(_, changes):
                for change in changes:
                    if isinstance(change, Suspend):
                        yield self.suspended(change.suspension, at)
            case Later(moment) if moment is not None:
                self.agenda.add(Due(moment, "2-flush", key, batch))

    def _dropped(
        self, batch: OpenBatch, items: list[BatchItem], reason: str, at: datetime
    ) -> Iterator[Output]:
        guard = "delivery" if reason == "busy" else "rights"
        name = self._batch_name(batch.id)
        for event in _events(items):
            yield said.decision(
                at, event, batch.subscription, outcome="dropped", guard=guard, reason=reason, batch=name
            )

    def flush_all(self, key: Key, at: datetime) -> Iterator[Output]:
        """Ask it of every batch of a subscription, oldest first: something about it has changed."""
        for batch in self.ledger.batches_of(key):
            yield from self.flush(batch.id, at)

    def deposit(self, parcel: Parcel, ancestors: tuple[Ancestor, ...], at: datetime) -> str:
        """Put a message into its mailbox; its name, under which later lines may name it as their cause."""
        name = self.mailbox.deposit(parcel, at)
        self.names[parcel.id] = name
        self.causes[parcel.tenant, name] = (*ancestors, Ancestor(name, parcel.agent))
        return name

    def _parcel(self, subscription: Subscription, message: UUID, serial_key: str | None) -> Parcel:
        return Parcel(
            message,
            subscription.tenant,
            subscription.agent,
            subscription.name,
            subscription.priority,
            serial_key,
            self._terms(subscription),
        )

    def _terms(self, subscription: Subscription) -> Terms:
        """Those of a version of a subscription, made once."""
        key = subscription.tenant, subscription.name, subscription.version
        found = self.terms.get(key)
        if found is None:
            found = self.terms[key] = Terms(
                subscription.max_attempts, subscription.lease, subscription.max_run, subscription.max_age
            )
        return found

    def settle_closed(self, at: datetime, *, wake: bool = True) -> None:
        """Take account of what was acknowledged or died; batches that waited for it are asked again."""
        for closed in self.mailbox.take_closed():
            message = closed.message
            key = message.tenant, message.subscription
            self.ledger.close_work((*key, message.serial_key or ""))
            if closed.state is WorkState.DEAD:
                self.ledger.bury(message.id)
            if wake:
                for batch in self.ledger.batches_of(key):
                    self.agenda.add(Due(at, "2-flush", key, batch.id))

    def _batch_name(self, identity: UUID) -> str:
        known = self.names.get(identity)
        if known is None:
            self.batches += 1
            known = self.names[identity] = f"B{self.batches}"
        return known

    def reindex(self, tenant: str) -> None:
        """Let the matcher see the tenant's subscriptions as they stand now."""
        own = [d for (home, _), d in self.subscriptions.items() if home == tenant and not d.is_deleted]
        self.index.replace(tenant, [declared.compiled for declared in own])
        self.some_ask_whether_busy |= any(declared.compiled.when_busy != "queue" for declared in own)


_LIVING = frozenset({State.ACTIVE, State.PAUSED})


def _events(items: Iterable[BatchItem]) -> list[str]:
    return [str(item.attributes["id"]) for item in items]
