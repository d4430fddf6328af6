"""The one decision point: what the shipped policies say, and that nothing that goes missing ever opens a door."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.policy import text
from sereno.subscriptions.policy.authority import (
    Asking,
    Wake,
    authority,
    may,
    may_activate,
    may_observe,
    may_wake,
    of_approval,
    of_subscription,
)
from sereno.subscriptions.policy.decision import Question, Resource, Subject, decide
from sereno.subscriptions.policy.facts import Agent, Denial, Facts, Grant, Person
from sereno.subscriptions.policy.remedy import remedy

T0 = datetime(2026, 11, 30, 12, tzinfo=UTC)
TENANT = Resource("Tenant", "acme")
WAKE = Wake("triage", "webhook/zendesk")
SPEC = {"owner": "user:marta", "agent": "agent:triage", "source": {"webhook": {"endpoint": "zendesk"}}}
BOTH = frozenset({"use", "wake"})


def person(name: str, *roles: str, kind: str = "human", state: str = "active") -> Person:
    return Person(name, kind, frozenset(roles), state)


def grant(to: str, thing: str, rights: frozenset[str] = BOTH, expires: datetime | None = None) -> Grant:
    agent = thing.removeprefix("agent:") if thing.startswith("agent:") else None
    return Grant(thing, to, agent, None if agent else thing, rights if agent else frozenset(), None, expires)


def facts(
    *people: Person, grants: tuple[Grant, ...] = (), denials: tuple[Denial, ...] = (), **agent: bool
) -> Facts:
    own = {"suspended": False, "self_subscribes": False} | agent
    agents = {name: Agent(name, "user:marta", **own) for name in ("triage", "writer")}
    return Facts(people={one.name: one for one in people}, agents=agents, grants=grants, denials=denials)


def marta(name: str = "user:marta") -> Asking:
    return Asking(name, T0)


ROLES = {
    "admin": {
        "read", "audit", "declare", "subscribe", "attribute", "operate", "grant", "administer", "stop", "restart",
    },
    "operator": {"read", "declare", "operate", "stop"},
    "author": {"read", "subscribe"},
    "approver": {"read"},
    "auditor": {"read", "audit"},
    "viewer": {"read"},
}  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_what_it_is_for_and_nothing_else(role: str) -> None:
    known = facts(person("user:marta", role))
    allowed = {action for action in ROLES["admin"] if may(known, marta(), action, TENANT).allowed}  # type: ignore[arg-type]
    assert allowed == ROLES[role]


@pytest.mark.req(128, 129)
@pytest.mark.parametrize(("wake", "use", "capacity"), list(itertools.product([True, False], repeat=3)))
def test_to_see_an_agent_is_not_enough(wake: bool, use: bool, capacity: bool) -> None:
    rights = frozenset({name for name, given in (("wake", wake), ("use", use)) if given})
    known = facts(person("user:marta", "author"), grants=(grant("user:marta", "agent:triage", rights),))
    decision = may_wake(known, marta(), WAKE, capacity=capacity)
    assert decision.allowed == (wake and use and capacity)
    assert decision.rule == ("wake-by-grant" if decision.allowed else "default-deny")


@pytest.mark.req(13)
def test_observing_any_source_needs_a_grant() -> None:
    known = facts(person("user:marta", "author"), grants=(grant("user:marta", "webhook/zendesk"),))
    assert may_observe(known, marta(), WAKE).allowed
    for source in ("webhook/other", "time", "calendar", "platform", "mcp/mail"):
        assert not may_observe(known, marta(), Wake("triage", source)).allowed


@pytest.mark.req(130, 131)
def test_an_agent_asks_for_itself_when_enabled_and_never_for_another() -> None:
    observing = (grant("agent:triage", "webhook/zendesk"), grant("agent:triage", "agent:writer"))
    for enabled in (True, False):
        known = facts(grants=observing, self_subscribes=enabled)
        assert may_wake(known, marta("agent:triage"), WAKE).allowed == enabled
        assert not may_wake(known, marta("agent:triage"), Wake("writer", "webhook/zendesk")).allowed


@pytest.mark.req(133)
def test_what_an_agent_asks_for_waits_for_a_person_unless_it_only_narrows() -> None:
    known = facts(person("user:marta", "author"), self_subscribes=True)
    for edit, widens, at_once in ((False, False, False), (True, True, False), (True, False, True)):
        answer = may_activate(
            known, marta("agent:triage"), "s", "agent:triage", WAKE, edit=edit, widens=widens
        )
        assert answer.allowed == at_once
    assert may_activate(known, marta(), "s", "user:marta", WAKE, edit=False, widens=False).allowed


@pytest.mark.req(131)
def test_a_tenants_policy_lets_one_agent_wake_another() -> None:
    own = '@id("triage-to-writer") permit(principal == Principal::"agent:triage", action == Action::"wake", resource == Agent::"writer");'
    assert text.objections(own) == []
    known = replace(facts(self_subscribes=True), policy=text.default().adding(own))
    decision = may_wake(known, marta("agent:triage"), Wake("writer", "platform"))
    assert (decision.allowed, decision.rule) == (True, "triage-to-writer")
    assert decision.policy_version != text.default().version


def test_four_eyes_hold_for_an_administrator_too() -> None:
    known = facts(person("user:marta", "admin"), person("user:luis", "approver"))
    mine = of_approval("a", "user:marta", "policy")
    assert may(known, marta(), "approve", mine).rule == "four-eyes"
    assert may(known, marta("user:luis"), "approve", mine).allowed


@pytest.mark.parametrize("kind", ["service", "node"])
def test_only_people_approve_grant_and_restart(kind: str) -> None:
    known = facts(person("service:crm", "admin", kind=kind))
    assert may(known, marta("service:crm"), "operate", TENANT).allowed
    for action in ("grant", "administer", "restart"):
        assert may(known, marta("service:crm"), action, TENANT).rule == "people-approve"
    assert not may(known, marta("service:crm"), "approve", of_approval("a", "user:x", "subscription")).allowed


@pytest.mark.req(378)
def test_a_standing_denial_wins_over_every_grant_and_role() -> None:
    held = (grant("user:marta", "agent:triage"), grant("user:marta", "webhook/zendesk"))
    for pattern, recipient, hits in (
        ("agent:tri*", None, True),
        ("webhook/*", None, True),
        ("agent:triage", "user:marta", True),
        ("agent:triage", "user:luis", False),
        ("mcp/*", None, False),
    ):
        known = facts(person("user:marta", "admin"), grants=held, denials=(Denial("d", pattern, recipient),))
        for decision in (may_wake(known, marta(), WAKE), may_observe(known, marta(), WAKE)):
            assert decision.allowed != hits, pattern
            assert (decision.rule == "standing-denial") == hits


def test_an_owner_operates_what_is_their_own_and_nothing_else() -> None:
    known = facts(person("user:marta"), person("user:luis"))
    own = of_subscription("s", "user:marta")
    assert may(known, marta(), "operate", own).rule == "owner"
    assert not may(known, marta("user:luis"), "operate", own).allowed


def test_a_token_can_only_narrow() -> None:
    known = facts(person("user:marta", "admin"))
    assert may(known, Asking("user:marta", T0, scopes=frozenset({"read"})), "read", TENANT).allowed
    refused = may(known, Asking("user:marta", T0, scopes=frozenset({"read"})), "operate", TENANT)
    assert refused.rule == "outside-token-scope"
    assert may(known, Asking("user:marta", T0, own_tenant=False), "read", TENANT).rule == "other-tenant"


def test_each_context_field_removed_in_turn_never_allows_what_was_not_allowed() -> None:
    everything = [
        Question(subject, action, resource, context)  # type: ignore[arg-type]
        for subject in (
            Subject("user:a", roles=frozenset({"admin"})),
            Subject(
                "user:b",
                wakes=frozenset({"triage"}),
                uses=frozenset({"triage"}),
                observes=frozenset({"time"}),
            ),
            Subject("user:c", roles=frozenset({"admin"}), suspended=True),
        )
        for action, resource, names in (
            (
                "wake",
                Resource("Agent", "triage", {"suspended": False, "self_subscribes": False}),
                ("denied", "capacity"),
            ),
            ("observe", Resource("Source", "time"), ("denied",)),
            ("activate", of_subscription("s", "user:a"), ("edit", "widens")),
            ("read", TENANT, ()),
        )
        for values in itertools.product([True, False], repeat=len(names) + 2)
        for context in [_context(action, dict(zip((*names, "own_tenant", "in_scope"), values, strict=True)))]
    ]
    whole = 0
    for question in everything:
        whole += decide(text.default(), question).allowed
        for name in question.context:
            less = {key: value for key, value in question.context.items() if key != name}
            decision = decide(text.default(), replace(question, context=less))
            assert not decision.allowed, (question, name)
            assert (decision.rule, bool(decision.errors)) == ("evaluation-error", True)
    assert whole > 10, "the same questions are allowed when they are whole"


def _context(action: str, values: dict[str, bool]) -> dict[str, bool | str]:
    texts = {"wake": ("family", "type"), "observe": ("family", "type"), "activate": ("family", "mode")}
    return {**values, **dict.fromkeys(texts.get(action, ()), "time")}


@given(st.integers(0, 2**12 - 1))
def test_the_same_question_has_the_same_answer(bits: int) -> None:
    flags = [bool(bits >> place & 1) for place in range(12)]
    subject = Subject(
        "user:x",
        roles=frozenset(role for role, held in zip(ROLES, flags, strict=False) if held),
        suspended=flags[6],
        wakes=frozenset({"triage"} if flags[7] else ()),
        uses=frozenset({"triage"} if flags[8] else ()),
    )
    resource = Resource("Agent", "triage", {"suspended": flags[9], "self_subscribes": False})
    context = _context(
        "wake", {"own_tenant": True, "in_scope": True, "denied": flags[10], "capacity": flags[11]}
    )
    question = Question(subject, "wake", resource, context)
    assert decide(text.default(), question) == decide(text.default(), question)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"people": {}}, "owner_removed"),
        ({"people": {"user:marta": person("user:marta", state="deleted")}}, "owner_removed"),
        ({"people": {"user:marta": person("user:marta", state="paused")}}, "revoked"),
        ({"grants": (grant("user:marta", "agent:triage"),)}, "revoked"),
        ({"grants": ()}, "revoked"),
        (
            {"agents": {"triage": Agent("triage", "", suspended=True, self_subscribes=False)}},
            "agent_suspended",
        ),
        ({"denials": (Denial("d", "webhook/*", None),)}, "revoked"),
    ],
)
def test_rights_are_asked_again_when_it_fires(change: dict[str, object], reason: str | None) -> None:
    held = (grant("user:marta", "agent:triage"), grant("user:marta", "webhook/zendesk"))
    known = replace(facts(person("user:marta"), grants=held), **change)  # type: ignore[arg-type]
    found = authority(known, "user:marta", "user:marta", SPEC, T0)
    assert (found.allowed, found.reason) == (reason is None, reason)


def test_a_grant_that_ends_says_when() -> None:
    ends = T0 + timedelta(hours=1)
    held = (grant("user:marta", "agent:triage", expires=ends), grant("user:marta", "webhook/zendesk"))
    known = facts(person("user:marta"), grants=held)
    assert authority(known, "user:marta", "user:marta", SPEC, T0).until == ends
    assert authority(known, "user:marta", "user:marta", SPEC, ends).reason == "revoked"


def test_an_owner_that_was_never_declared_is_a_name_and_the_creators_rights_count() -> None:
    known = facts(person("user:admin", "admin"))
    assert authority(known, "user:marta", "user:admin", SPEC, T0).sponsor == "user:admin"
    assert authority(known, "user:marta", "user:admin", SPEC, T0).allowed


@pytest.mark.req(373)
def test_a_refusal_tells_the_one_command_that_would_allow_it() -> None:
    known = facts(person("user:marta", "author"), denials=(Denial("deny-x", "webhook/*", None),))
    wake = may_wake(known, marta(), Wake("triage", "time"))
    assert (
        remedy(known, marta(), "wake", wake, Wake("triage", "time"))
        == "sereno grants add --to user:marta --agent agent:triage"
    )
    denied = may_observe(known, marta(), WAKE)
    assert remedy(known, marta(), "observe", denied, WAKE) == "sereno grants remove deny-x --reason WHY"
    role = may(known, marta(), "operate", TENANT)
    assert remedy(known, marta(), "operate", role) == "sereno principal edit user:marta --role operator"
    stranger = may(known, marta("user:who"), "read", TENANT)
    assert remedy(known, marta("user:who"), "read", stranger) == "sereno principal add user:who --role viewer"


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ("permit(", "expected Cedar policies"),
        ("permit(principal, action, resource);", "needs a name of its own"),
        ('@id("admin") permit(principal, action, resource);', "another policy has this @id"),
        ('@id("x") permit(principal, action == Action::"fly", resource);', "unrecognized action"),
        ('@id("x") forbid(principal, action == Action::"wake", resource) when { context.wether };', "wether"),
        ("// nothing", "expected at least one policy"),
    ],
)
def test_a_tenants_policies_fit_the_schema_and_have_names(own: str, says: str) -> None:
    assert any(says in objection for objection in text.objections(own))


def test_what_could_allow_more_widens() -> None:
    permit = '@id("p") permit(principal, action == Action::"read", resource);'
    forbid = '@id("f") forbid(principal, action == Action::"wake", resource);'
    for before, after, wider in (
        (None, forbid, False),
        (None, permit, True),
        (forbid, permit, True),
        (forbid, forbid + permit, True),
        (permit + forbid, forbid, False),
        (permit, forbid + "\n" + permit, False),
    ):
        assert text.widens(before, after) == wider, (before, after)
