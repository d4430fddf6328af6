"""The questions that Sereno asks: may this principal act here, and may this subscription wake its agent now?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.policy.decision import (
    NOBODY,
    Action,
    Decision,
    Question,
    Resource,
    decide,
    entity,
)
from sereno.subscriptions.policy.facts import Facts

Reason = Literal["revoked", "owner_removed", "agent_suspended"]


@dataclass(frozen=True, slots=True)
class Asking:
    """In whose name something is asked, and how far the token reaches."""

    principal: str
    at: datetime
    own_tenant: bool = True
    scopes: frozenset[str] = frozenset()

    def context(self, action: str, **more: bool | str) -> dict[str, bool | str]:
        """What every question says."""
        in_scope = not self.scopes or bool(self.scopes & {"*", action})
        return {"own_tenant": self.own_tenant, "in_scope": in_scope, **more}


@dataclass(frozen=True, slots=True)
class Wake:
    """What a subscription asks for, as far as rights go."""

    agent: str
    source: str
    """Such as `webhook/zendesk`, `mcp/mail`, or the family alone: `time`, `calendar`, `platform`."""
    types: tuple[str, ...] = ()
    mode: str = "ask_each_time"

    @property
    def family(self) -> str:
        """The first word of the source."""
        return self.source.partition("/")[0]

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Wake":
        """From a subscription's specification in its stored form."""
        return cls(
            str(spec["agent"]).removeprefix("agent:"),
            source_of(spec["source"]),
            tuple((spec["source"].get("platform") or {}).get("types", ())),
            str(spec.get("mode", "ask_each_time")),
        )


@dataclass(frozen=True, slots=True)
class Authority:
    """Whether a subscription has the right to wake, by which decision, and until when the grants behind it last."""

    allowed: bool
    decision: Decision
    sponsor: str
    reason: Reason | None = None
    until: datetime | None = None


def source_of(source: Mapping[str, Any]) -> str:
    """The name by which a source is granted."""
    if source.get("webhook"):
        return f"webhook/{source['webhook']['endpoint']}"
    if source.get("mcp"):
        return f"mcp/{source['mcp']['connector']}"
    return next(family for family in ("time", "calendar", "platform") if source.get(family))


def may(facts: Facts, asking: Asking, action: Action, resource: Resource, **context: bool | str) -> Decision:
    """Whether the principal may do this."""
    subject = facts.subject(asking.principal, asking.at)
    if subject is None:
        return Decision(False, NOBODY, facts.policy.version)
    itself = facts.itself(asking.principal)
    return decide(
        facts.policy, Question(subject, action, resource, asking.context(action, **context), itself)
    )


def may_wake(facts: Facts, asking: Asking, wake: Wake, *, capacity: bool = True) -> Decision:
    """Whether the principal may have the agent woken; `capacity` is whether another subscription still fits."""
    agent = facts.agents.get(wake.agent)
    resource = (
        agent.resource
        if agent
        else Resource("Agent", wake.agent, {"suspended": True, "self_subscribes": False})
    )
    return may(
        facts,
        asking,
        "wake",
        resource,
        denied=_denied(facts, asking.principal, wake),
        capacity=capacity,
        family=wake.family,
        type=",".join(wake.types),
    )


def may_observe(facts: Facts, asking: Asking, wake: Wake) -> Decision:
    """Whether the principal may have the source observed."""
    return may(
        facts,
        asking,
        "observe",
        Resource("Source", wake.source),
        denied=_denied(facts, asking.principal, wake),
        family=wake.family,
        type=",".join(wake.types),
    )


def may_activate(
    facts: Facts, asking: Asking, subscription: str, owner: str, wake: Wake, *, edit: bool, widens: bool
) -> Decision:
    """Whether what the principal asks for needs nobody else's word."""
    return may(
        facts,
        asking,
        "activate",
        of_subscription(subscription, owner),
        edit=edit,
        widens=widens,
        family=wake.family,
        mode=wake.mode,
    )


def of_subscription(name: str, owner: str) -> Resource:
    """The entity of a subscription."""
    return Resource("Subscription", name, {"owner": entity("Principal", owner)})


def of_approval(name: str, asked_by: str, kind: str) -> Resource:
    """The entity of something that waits for a person's word."""
    return Resource("Approval", name, {"asked_by": entity("Principal", asked_by), "kind": kind})


def _denied(facts: Facts, principal: str, wake: Wake) -> bool:
    things = (f"agent:{wake.agent}", wake.source, *wake.types)
    return facts.denied(things, (principal, f"agent:{wake.agent}"))


def authority(facts: Facts, owner: str, created_by: str, spec: Mapping[str, Any], at: datetime) -> Authority:
    """Whether a subscription may wake its agent now: the rights are its owner's.

    An owner that was never declared is a name to whom the work is attributed; then its creator's rights count.
    """
    sponsor = owner if owner in facts.people or owner.startswith("agent:") else created_by
    asking, wake = Asking(sponsor, at), Wake.of(spec)
    decision = may_wake(facts, asking, wake)
    if decision.allowed:
        decision = may_observe(facts, asking, wake)
    reason: Reason | None = None
    if not decision.allowed:
        reason = _reason(facts, sponsor, decision, at)
    return Authority(decision.allowed, decision, sponsor, reason, _until(facts, sponsor, wake, at))


def _reason(facts: Facts, sponsor: str, decision: Decision, at: datetime) -> Reason:
    if decision.rule == "agent-suspended":
        return "agent_suspended"
    known = facts.people.get(sponsor)
    if known is not None and known.state == State.DELETED:
        return "owner_removed"
    return "owner_removed" if facts.subject(sponsor, at) is None else "revoked"


def _until(facts: Facts, sponsor: str, wake: Wake, at: datetime) -> datetime | None:
    """When the first of the grants that this may rest on ends; with two that give the same it is asked again then."""
    ends = [
        grant.expires
        for grant in facts.grants
        if grant.to == sponsor
        and grant.expires is not None
        and grant.live(at)
        and (grant.agent == wake.agent or grant.source == wake.source)
    ]
    return min(ends, default=None)
