"""The world of a simulation: virtual time in which lines happen one after the other, and what each prints."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sereno.envelope.encode import flat, rfc3339
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.passage import Ancestor, Passage
from sereno.execution_plane.listeners.schedule import advance
from sereno.execution_plane.listeners.signal import of_instant
from sereno.execution_plane.manifest.change import Effect, changes
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.matcher import Index, miss
from sereno.execution_plane.pipeline.round import Setting, decide, message_of
from sereno.execution_plane.simulate.declared import Declared, Refused, edit, revoke, step
from sereno.execution_plane.simulate.lines import (
    Advance,
    Claim,
    Control,
    Edit,
    Line,
    LineFault,
    OfLease,
    Received,
    Standing,
)
from sereno.execution_plane.simulate.mailbox import Mailbox
from sereno.mailbox.lease import commands

Output = dict[str, Any]
Key = tuple[str, str]


@dataclass(slots=True)
class World:
    """Subscriptions, ledger and mailboxes at one virtual moment."""

    subscriptions: dict[Key, Declared]
    show_unmatched: bool = False
    ledger: Ledger = field(default_factory=Ledger)
    mailbox: Mailbox = field(default_factory=Mailbox)
    index: Index = field(default_factory=Index)
    names: dict[str, str] = field(default_factory=dict)
    causes: dict[Key, tuple[Ancestor, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tenant in {tenant for tenant, _ in self.subscriptions}:
            self._reindex(tenant)

    def run(self, lines: Iterable[tuple[int, Line]], until: datetime | None) -> Iterator[Output]:
        """What every line prints, in order; instants of schedules come when their time comes, until `until`."""
        for number, line in lines:
            yield from self.pass_time(line.at if until is None else min(until, line.at))
            if isinstance(line, Received):
                yield from self._decide(line)
            else:
                try:
                    yield from self._control(line)
                except Refused as fault:
                    raise LineFault(number, str(fault)) from None
        if until is not None:
            yield from self.pass_time(until)

    def pass_time(self, until: datetime) -> Iterator[Output]:
        """The instants that come due until then, in order, each decided at its moment."""
        while (due := self._next_due(until)) is not None:
            instant, key = due
            declared = self.subscriptions[key]
            schedule = declared.schedule
            if schedule is None:
                raise AssertionError("only a subscription with a schedule is due")
            # A slot inside a pause is shown as what the guards say of it.
            after = advance(replace(schedule, paused=False), instant).schedule
            self.subscriptions[key] = replace(
                declared, schedule=replace(schedule, next_due=after.next_due, last_instant=after.last_instant)
            )
            name = f"{declared.object.name}@{rfc3339(instant)}"
            signal = of_instant(schedule, instant, f"{declared.compiled.origin}#{name}", instant)
            # People name an instant by its subscription, and in a file there is no other id.
            envelope = replace(signal, id=name)
            yield from self._decide(Received(envelope, flat(envelope)))

    def _next_due(self, until: datetime) -> tuple[datetime, Key] | None:
        due = [
            (declared.schedule.next_due, key)
            for key, declared in self.subscriptions.items()
            if declared.schedule is not None and declared.schedule.next_due is not None
        ]
        first = min(due, default=None)
        return None if first is None or first[0] > until else first

    def _decide(self, line: Received) -> Iterator[Output]:
        envelope, attributes = line.envelope, line.attributes
        arrival = Arrival(envelope, attributes, self.index.match(envelope, attributes), 0)
        setting = Setting(line.at, {}, self.causes)
        for decided in decide([arrival], self.ledger, setting):
            said = [(p.subscription.name, self._decision(p, attributes)) for p in decided.passages]
            if self.show_unmatched:
                said += self._unmatched(arrival, {name for name, _ in said})
            yield from (output for _, output in sorted(said, key=lambda pair: pair[0]))

    def _decision(self, passage: Passage, attributes: Mapping[str, Any]) -> Output:
        decision = passage.decided
        if decision.message is not None:
            self._deposit(passage, attributes)
        return {
            "kind": "decision",
            "at": rfc3339(passage.envelope.recordedtime),
            "event": passage.envelope.id,
            "subscription": passage.subscription.name,
            "outcome": decision.outcome,
            "guard": decision.guard,
            "reason": decision.reason,
            "message": None if decision.message is None else self.names[str(decision.message)],
            "batch": None,
            "numbers": {
                name: self.names.get(value, value) if isinstance(value, str) else value
                for name, value in decision.numbers.items()
            },
        }

    def _deposit(self, passage: Passage, attributes: Mapping[str, Any]) -> None:
        message = message_of(passage, attributes)
        name = self.mailbox.deposit(message, passage.envelope.recordedtime)
        self.names[str(message.id)] = name
        ancestors = (*passage.given.state.ancestors, Ancestor(name, message.agent))
        self.causes[message.tenant, name] = self.causes[message.tenant, str(message.id)] = ancestors

    def _unmatched(self, arrival: Arrival, matched: set[str]) -> list[tuple[str, Output]]:
        envelope = arrival.envelope
        said: list[tuple[str, Output]] = []
        for subscription in self.index.of_tenant(envelope.tenantid):
            if subscription.name in matched:
                continue
            why = miss(subscription, envelope, arrival.attributes)
            if why is None:
                raise AssertionError("a pair that does not match has a reason")
            output = {
                "kind": "decision",
                "at": rfc3339(envelope.recordedtime),
                "event": envelope.id,
                "subscription": subscription.name,
                "outcome": "not_matched",
                "guard": "match",
                "reason": why.part,
                "message": None,
                "batch": None,
                "numbers": {"expected": why.expected, "found": why.found},
            }
            said.append((subscription.name, output))
        return said

    def _control(self, line: Control) -> Iterator[Output]:
        match line:
            case Standing() | Edit():
                yield self._stand(line)
            case Claim():
                yield self._claim(line)
            case OfLease():
                yield self._verb(line)
            case Advance():
                pass

    def _stand(self, line: Standing | Edit) -> Output:
        key = self._find(line.subscription, line.tenant)
        before = self.subscriptions[key]
        match line:
            case Edit():
                after = edit(before, line.spec, line.reason, line.at)
            case Standing():
                after = revoke(before) if line.do == "revoke" else step(before, line.do, line.reason, line.at)
        self.subscriptions[key] = after
        self._reindex(key[0])
        self._carry(before, after, line.at)
        return {
            "kind": "state",
            "at": rfc3339(line.at),
            "subscription": key[1],
            "state": "revoked" if after.revoked else str(after.life.state),
            "reason": line.reason,
        }

    def _carry(self, before: Declared, after: Declared, at: datetime) -> None:
        """Do to the messages what the live manifest receiver does to them."""
        tenant, name = before.object.tenant, before.object.name
        old = [] if before.revoked else [before.object]
        new = [] if after.revoked else [after.object]
        for change in changes(tenant, old, new):
            for command in _commands(change.effect, at):
                self.mailbox.of_subscription(tenant, name, command)

    def _claim(self, line: Claim) -> Output:
        agent = line.agent.removeprefix("agent:")
        tenants = [line.tenant] if line.tenant else sorted({tenant for tenant, _ in self.subscriptions})
        leases = [
            lease
            for tenant in tenants
            for lease in self.mailbox.claim(tenant, agent, limit=line.max, lease=line.lease, now=line.at)
        ]
        return {
            "kind": "claim",
            "at": rfc3339(line.at),
            "agent": line.agent,
            "messages": [lease.message for lease in leases],
            "leases": [lease.lease for lease in leases],
        }

    def _verb(self, line: OfLease) -> Output:
        status = self.mailbox.verb(
            line.lease, line.do, reason=line.reason, retry_after=line.retry_after, now=line.at
        )
        return {
            "kind": "lease",
            "at": rfc3339(line.at),
            "lease": line.lease,
            "status": status or "unknown",
        }

    def _find(self, name: str, tenant: str | None) -> Key:
        found = [key for key in self.subscriptions if key[1] == name and tenant in (None, key[0])]
        if len(found) != 1:
            problem = "is declared in several tenants; say tenant" if found else "is not declared"
            raise Refused(f"subscription: {name} {problem}")
        return found[0]

    def _reindex(self, tenant: str) -> None:
        own = [d for (home, _), d in self.subscriptions.items() if home == tenant and not d.is_deleted]
        self.index.replace(tenant, [declared.compiled for declared in own])


def _commands(effect: Effect, at: datetime) -> tuple[commands.Command, ...]:
    match effect:
        case Effect.PAUSED | Effect.REVOKED:
            return (commands.Hold(at, effect.value, cancel=True),)
        case Effect.RESUMED:
            return (commands.Unhold(at, Effect.PAUSED.value),)
        case Effect.RESTORED:
            return (commands.Unhold(at, Effect.REVOKED.value),)
        case Effect.WITHDRAWN:
            return (commands.Withdraw(at, effect.value),)
