"""What a caller may declare: each document that would change something is allowed, refused, or waits for a person."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.reference import address_of
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.catalog.token import EVERY_TENANT
from sereno.subscriptions.documents import Document
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.policy import text as policy_text
from sereno.subscriptions.policy.authority import (
    Wake,
    may,
    may_activate,
    may_observe,
    may_wake,
    of_subscription,
)
from sereno.subscriptions.policy.decision import Action, Decision, Resource
from sereno.subscriptions.policy.facts import Facts, facts_of
from sereno.subscriptions.policy.remedy import remedy, sentence
from sereno.subscriptions.policy.widening import widening

_UNAPPROVED = (State.DRAFT, State.PENDING_APPROVAL, State.REJECTED)
_ACTION: Mapping[str, Action] = {
    "Tenant": "administer",
    "Agent": "declare",
    "Endpoint": "declare",
    "Connector": "declare",
    "Subscription": "subscribe",
    "Grant": "grant",
    "Policy": "administer",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What policy says to one change; `asks` are the reasons why it waits for another person, if it does."""

    decision: Decision
    asks: tuple[str, ...] = ()
    quorum: int = 1


@dataclass(frozen=True, slots=True)
class Judge:
    """Everything that rights depend on while documents are applied: facts of each tenant, and who asks."""

    caller: Caller
    at: datetime
    facts: Mapping[str, Facts]
    # Live subscriptions by tenant, sponsor and agent: capacity is counted.
    taken: Mapping[tuple[str, str, str], int]

    def document(self, document: Document, before: Item | None) -> Verdict | Refusal:
        """The verdict on one document that changes something."""
        if not self.caller.reaches(document.tenant):
            return Refusal("forbidden", f"this token does not reach tenant {document.tenant}")
        if document.kind == "Tenant" and before is None and self.caller.tenant != EVERY_TENANT:
            return Refusal("forbidden", f"this token does not reach tenant {document.tenant}")
        if document.kind == "Subscription":
            return self._subscription(document, before)
        spec = document.canonical()
        action: Action = "stop" if spec.get("deny") and before is None else _ACTION[document.kind]
        verdict = self.require(document.tenant, action, f"declare {address_of(document)}")
        if isinstance(verdict, Refusal) or document.kind != "Policy":
            return verdict
        return _released(verdict, spec, before)

    def removal(self, item: Item) -> Verdict | Refusal:
        """The verdict on the deletion of an object."""
        if item.address.kind == "Subscription":
            return self.operate(item, "delete")
        return self.require(item.address.tenant, _ACTION[item.address.kind], f"delete {item.address}")

    def operate(self, item: Item, verb: str) -> Verdict | Refusal:
        """The verdict on a step in the life of an object; of a subscription its owner may take each."""
        tenant, kind = item.address.tenant, item.address.kind
        resource = None
        if kind == "Subscription":
            resource = of_subscription(item.name, sponsor(self.facts[tenant], item))
        action: Action = "administer" if kind == "Principal" else "operate"
        return self.require(tenant, action, f"{verb} {item.address}", resource)

    def require(
        self, tenant: str, action: Action, what: str, resource: Resource | None = None
    ) -> Verdict | Refusal:
        """Whether the caller may do this in the tenant."""
        facts, asking = self.facts[tenant], self.caller.asking(tenant, self.at)
        decision = may(facts, asking, action, resource or Resource("Tenant", tenant))
        if decision.allowed:
            return Verdict(decision)
        return refusal(sentence(asking, what, decision, remedy(facts, asking, action, decision)), decision)

    def _subscription(self, document: Document, before: Item | None) -> Verdict | Refusal:
        tenant, name, spec = document.tenant, document.metadata.name, document.canonical()
        where = f"Subscription {name}"
        allowed = self.require(tenant, "subscribe", f"declare {where}")
        if isinstance(allowed, Refusal):
            return allowed
        # What was never approved cannot be narrowed into force.
        changed = before is not None and before.live and before.state not in _UNAPPROVED
        wider = widening(before.spec, spec) if before is not None and changed else ()
        objection = self._owning(tenant, spec, before if before and before.live else None) or self._waking(
            tenant, spec, before
        )
        if objection is not None:
            return objection
        decision = may_activate(
            self.facts[tenant],
            self.caller.asking(tenant, self.at),
            name,
            str(spec["owner"]),
            Wake.of(spec),
            edit=changed,
            widens=bool(wider),
        )
        waits = () if decision.allowed else (wider or ("new",))
        return Verdict(decision if decision.allowed else allowed.decision, waits)

    def handover(self, item: Item, spec: Mapping[str, Any]) -> Refusal | None:
        """Why the subscription may not get the owner that this text names."""
        tenant = item.address.tenant
        answer = self.require(tenant, "subscribe", f"declare Subscription {item.name}")
        if isinstance(answer, Refusal):
            return answer
        return self._owning(tenant, spec, item) or self._waking(tenant, spec, item)

    def _owning(self, tenant: str, spec: Mapping[str, Any], before: Item | None) -> Refusal | None:
        """Editing needs the right over what is there; naming another declared owner needs the right to do so."""
        if before is not None:
            answer = self.operate(before, "edit")
            if isinstance(answer, Refusal):
                return answer
        owner, known = str(spec["owner"]), self.facts[tenant].people
        unchanged = before is not None and before.spec.get("owner") == owner
        if owner == self.caller.name or unchanged or not (owner in known or owner.startswith("agent:")):
            return None
        answer = self.require(tenant, "attribute", f"attribute a subscription to {owner}")
        return answer if isinstance(answer, Refusal) else None

    def _waking(self, tenant: str, spec: Mapping[str, Any], before: Item | None) -> Refusal | None:
        """Both the caller and whoever will answer for the subscription need the rights that it uses."""
        wake, facts = Wake.of(spec), self.facts[tenant]
        owner = str(spec["owner"])
        answering = owner if owner in facts.people else self.caller.name
        for who in dict.fromkeys((self.caller.name, answering)):
            asking = replace(self.caller.asking(tenant, self.at), principal=who)
            fits = (before is not None and before.live) or self._fits(tenant, who, wake.agent)
            decision = may_wake(facts, asking, wake, capacity=fits)
            if not decision.allowed:
                command = remedy(facts, asking, "wake", decision, wake)
                told = f"have agent:{wake.agent} woken" + (
                    "" if fits else " by more subscriptions than granted"
                )
                return refusal(sentence(asking, told, decision, command), decision)
            decision = may_observe(facts, asking, wake)
            if not decision.allowed:
                command = remedy(facts, asking, "observe", decision, wake)
                return refusal(sentence(asking, f"observe {wake.source}", decision, command), decision)
        return None

    def _fits(self, tenant: str, who: str, agent: str) -> bool:
        limits = [
            grant.subscriptions
            for grant in self.facts[tenant].grants
            if grant.to == who and grant.agent == agent and grant.subscriptions is not None
        ]
        return not limits or self.taken.get((tenant, who, agent), 0) < max(limits)


def refusal(message: str, decision: Decision) -> Refusal:
    """A refusal that names the rule."""
    return Refusal("forbidden", message, rule=decision.rule, policy_version=decision.policy_version)


def sponsor(facts: Facts, item: Item) -> str:
    """Whose rights a subscription uses: its owner's when that is a declared principal, else its creator's."""
    owner = str(item.spec.get("owner", ""))
    return owner if owner in facts.people or owner.startswith("agent:") else item.created_by


def _released(verdict: Verdict, spec: Mapping[str, Any], before: Item | None) -> Verdict:
    """A policy that allows more than before, or asks fewer people, is not released by who wrote it."""
    standing = before if before is not None and before.state is State.ACTIVE else None
    old = standing.spec if standing else {}
    asks = []
    if policy_text.widens(old.get("cedar"), spec["cedar"]):
        asks.append("cedar")
    if standing and spec["quorum"] < old["quorum"]:
        asks.append("quorum")
    return replace(verdict, asks=tuple(asks), quorum=max(spec["quorum"], old.get("quorum", 1)))


def judged(
    judge: Judge, documents: Sequence[Document], items: Mapping[Address, Item], doomed: Iterable[Item]
) -> tuple[dict[Address, Verdict], list[Refusal]]:
    """The verdict on each change, and every refusal; what stays as it is needs no right."""
    verdicts, refusals = {}, []
    for document in documents:
        address = address_of(document)
        before = items.get(address)
        if before is not None and _same(before, document):
            # Nothing changes, but the answer tells that it is so.
            answer = judge.require(document.tenant, "read", f"read {address}")
            refusals += [answer] if isinstance(answer, Refusal) else []
            continue
        answer = judge.document(document, before)
        if isinstance(answer, Refusal):
            refusals.append(answer)
        else:
            verdicts[address] = answer
    refusals += [answer for item in doomed if isinstance(answer := judge.removal(item), Refusal)]
    return verdicts, refusals


def _same(before: Item, document: Document) -> bool:
    return (
        before.live
        and before.state not in _UNAPPROVED
        and before.spec == document.canonical()
        and before.labels == dict(document.metadata.labels)
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a document will be, for decisions on others that are declared with it."""

    kind: str
    name: str
    state: str
    spec: Mapping[str, Any]


def with_documents(objects: Sequence[Item], documents: Iterable[Document], tenant: str) -> Facts:
    """The facts as they will be: agents and grants that are declared together with a subscription count for it."""
    declared = {
        (d.kind, d.metadata.name): _Wanted(d.kind, d.metadata.name, "active", d.canonical())
        for d in documents
        if d.tenant == tenant and d.kind in ("Agent", "Grant")
    }
    kept = [item for item in objects if (item.kind, item.name) not in declared]
    held = {(item.kind, item.name): item.state for item in objects}
    wanted = [replace(one, state=_kept_state(held.get(key))) for key, one in declared.items()]
    return facts_of([*kept, *wanted])


def _kept_state(before: State | None) -> str:
    return before.value if before is not None and before is not State.DELETED else State.ACTIVE.value


def counted(items: Iterable[Item], facts: Mapping[str, Facts]) -> dict[tuple[str, str, str], int]:
    """How many live subscriptions each sponsor has on each agent."""
    taken: dict[tuple[str, str, str], int] = {}
    for item in items:
        tenant = item.address.tenant
        key = (tenant, sponsor(facts[tenant], item), str(item.spec["agent"]).removeprefix("agent:"))
        taken[key] = taken.get(key, 0) + 1
    return taken


def pairs(verdicts: Mapping[Address, Verdict]) -> Iterator[tuple[Address, Verdict]]:
    """What waits for a person."""
    return ((address, verdict) for address, verdict in verdicts.items() if verdict.asks)
