"""The one decision point: a question, the policies, and an answer that names the rule which decided."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import cedarpy

from sereno.subscriptions.policy.text import PolicyText

Action = Literal[
    "read",
    "audit",
    "declare",
    "subscribe",
    "attribute",
    "operate",
    "grant",
    "administer",
    "stop",
    "restart",
    "approve",
    "activate",
    "wake",
    "observe",
]
Role = Literal["admin", "operator", "author", "approver", "auditor", "viewer"]
# Which roles a role has besides.
ROLES: Mapping[Role, tuple[Role, ...]] = {
    "admin": ("operator", "author", "approver", "auditor"),
    "operator": ("viewer",),
    "author": ("viewer",),
    "approver": ("viewer",),
    "auditor": ("viewer",),
    "viewer": (),
}
NOBODY = "unknown-principal"
NO_RULE = "default-deny"
FAULTY = "evaluation-error"


@dataclass(frozen=True, slots=True)
class Subject:
    """Who asks, with what live grants give."""

    name: str
    kind: str = "human"
    roles: frozenset[str] = frozenset()
    suspended: bool = False
    wakes: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    observes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resource:
    """What is asked about: an entity of the schema; `attributes` as Cedar's JSON."""

    type: Literal["Tenant", "Agent", "Source", "Subscription", "Approval"]
    id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """May the subject do this to the resource, in this context?

    `itself` is the agent that the subject is, if it is one and is declared.
    """

    subject: Subject
    action: Action
    resource: Resource
    context: Mapping[str, bool | str]
    itself: Resource | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer, the `@id` of the rule that decided, and the version of the policies by which it did."""

    allowed: bool
    rule: str
    policy_version: str
    errors: tuple[str, ...] = ()


def decide(policy: PolicyText, question: Question) -> Decision:
    """Allowed only when Cedar allows without any error: it skips a `forbid` that errs, so an error is a refusal."""
    policies, schema = _parsed(policy.policies, policy.schema)
    answer = cedarpy.is_authorized(
        {
            "principal": _uid("Principal", question.subject.name),
            "action": _uid("Action", question.action),
            "resource": _uid(question.resource.type, question.resource.id),
            "context": dict(question.context),
        },
        policies,
        [*_ROLE_ENTITIES, _subject(question.subject), *_things(question)],
        schema,
    )
    errors = tuple(answer.diagnostics.errors)
    names = answer.diagnostics.id_annotations_by_reason
    rules = sorted(names.get(reason, reason) for reason in answer.diagnostics.reasons)
    allowed = answer.decision is cedarpy.Decision.Allow and not errors
    rule = rules[0] if rules and (allowed or not errors) else FAULTY if errors else NO_RULE
    return Decision(allowed, rule, policy.version, errors)


def entity(kind: str, name: str) -> dict[str, Any]:
    """A reference to an entity, as the value of an attribute."""
    return {"__entity": _uid(kind, name)}


@lru_cache(maxsize=32)
def _parsed(policies: str, schema: str) -> tuple[cedarpy.PolicySet, cedarpy.Schema]:
    return cedarpy.PolicySet.from_str(policies), cedarpy.Schema.from_str(schema)


def _uid(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "id": name}


_ROLE_ENTITIES = [
    {"uid": _uid("Role", role), "attrs": {}, "parents": [_uid("Role", other) for other in others]}
    for role, others in ROLES.items()
]


def _subject(subject: Subject) -> dict[str, Any]:
    own = subject.name.removeprefix("agent:") if subject.kind == "agent" else ""
    return {
        "uid": _uid("Principal", subject.name),
        "attrs": {
            "kind": subject.kind,
            "suspended": subject.suspended,
            "agent": entity("Agent", own),
            "wakes": [entity("Agent", name) for name in sorted(subject.wakes)],
            "uses": [entity("Agent", name) for name in sorted(subject.uses)],
            "observes": [entity("Source", name) for name in sorted(subject.observes)],
        },
        "parents": [_uid("Role", role) for role in sorted(subject.roles)],
    }


def _things(question: Question) -> list[dict[str, Any]]:
    found = {(thing.type, thing.id): thing for thing in (question.resource, question.itself) if thing}
    if question.subject.kind != "agent":
        found.setdefault(("Agent", ""), _NO_AGENT)
    return [
        {"uid": _uid(thing.type, thing.id), "attrs": dict(thing.attributes), "parents": []}
        for thing in found.values()
    ]


_NO_AGENT = Resource("Agent", "", {"suspended": True, "self_subscribes": False})
