"""What the policies in a manifest say to its subscriptions, and to whom it shows tokens."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.catalog.rights import Memory, facts_in, rights_of
from sereno.execution_plane.catalog.tenant import picture
from sereno.execution_plane.guards import Ledger, Moment
from sereno.execution_plane.manifest.change import Effect, Judged, changes
from sereno.execution_plane.pipeline.directory import compile_object
from sereno.subscriptions.policy import text
from sereno.subscriptions.policy.facts import SHIPPED
from sereno.subscriptions.rights import RIGHTS, Rights
from sereno.subscriptions.snapshot import CatalogObject, Manifest
from tests import passages

T0 = datetime(2026, 11, 30, 12, tzinfo=UTC)
HASH = "ab" * 32
SOURCE = {"webhook": {"endpoint": "zendesk"}}


def declared(what: str, name: str, /, state: str = "active", **spec: Any) -> CatalogObject:
    return CatalogObject.model_validate(
        {
            "kind": what, "tenant": "acme", "name": name, "id": name, "version": 1, "state": state, "spec": spec,
            "created_by": "user:admin", "updated_at": T0, "token_sha256": HASH if what == "Token" else None,
        }
    )  # fmt: skip


POLICY = declared("Policy", SHIPPED, cedar=text.default().policies, schema=text.default().schema)
AGENT = declared("Agent", "triage", owner="user:marta")
ADMIN = declared("Principal", "user:admin", kind="human", roles=["admin"])
MARTA = declared("Principal", "user:marta", kind="human", roles=["author"])
MAY_WAKE = declared("Grant", "wake", to="user:marta", agent="agent:triage", rights=["use", "wake"])
MAY_OBSERVE = declared("Grant", "observe", to="user:marta", source="webhook/zendesk")
WATCH = declared("Subscription", "watch", owner="user:marta", agent="agent:triage", source=SOURCE)
WHOLE = (POLICY, AGENT, ADMIN, MARTA, MAY_WAKE, MAY_OBSERVE, WATCH)


def asked(*objects: CatalogObject, at: datetime = T0) -> Rights:
    facts = facts_in(objects)
    return RIGHTS if facts is None else rights_of(facts, WATCH, at)


def without(*gone: CatalogObject) -> list[CatalogObject]:
    return [item for item in WHOLE if item not in gone]


def test_a_manifest_without_policies_takes_nothing_away() -> None:
    assert asked(AGENT, WATCH) == RIGHTS


@pytest.mark.req(95)
@pytest.mark.parametrize(
    ("objects", "rights"),
    [
        (WHOLE, Rights()),
        (without(MAY_WAKE), Rights(revoked=True)),
        (without(MAY_OBSERVE), Rights(revoked=True)),
        ([*without(MARTA), MARTA.model_copy(update={"state": "deleted"})], Rights(owner_removed=True)),
        ([*without(AGENT), AGENT.model_copy(update={"state": "paused"})], Rights(agent_suspended=True)),
        ([*WHOLE, declared("Grant", "deny", deny="webhook/*")], Rights(revoked=True)),
        (without(MARTA), Rights()),
    ],
    ids=[
        "whole",
        "no-wake",
        "no-observe",
        "owner-removed",
        "agent-suspended",
        "denied",
        "owner-never-declared",
    ],
)
def test_rights_follow_what_the_manifest_says_now(objects: Sequence[CatalogObject], rights: Rights) -> None:
    found = asked(*objects)
    assert replace(found, authority=None) == rights
    assert found.authority is not None
    assert found.authority.policy
    assert found.authority.rule


def test_a_decision_keeps_by_which_policy_and_rule_it_was_allowed() -> None:
    rights = asked(*WHOLE)
    assert rights.authority is not None
    watch = compile_object(passages.declared(), rights=rights)
    said = Ledger().decide(passages.activation(passages.received(1), watch), watch, Moment(passages.NOON))
    told = next(verdict.numbers for verdict in said.verdicts if verdict.guard == "rights")
    assert {name: told[name] for name in ("policy", "rule", "sponsor")} == asdict(rights.authority)


def test_the_policies_in_the_manifest_decide_not_those_of_this_release() -> None:
    closed = POLICY.model_copy(
        update={"spec": {**POLICY.spec, "cedar": '@id("x") forbid(principal, action, resource);'}}
    )
    assert asked(closed, *without(POLICY)).revoked


def test_a_grant_that_ends_is_asked_again_then() -> None:
    ends = T0 + timedelta(hours=1)
    ending = declared(
        "Grant",
        "wake",
        to="user:marta",
        agent="agent:triage",
        rights=["use", "wake"],
        expires="2026-11-30T13:00:00Z",
    )
    objects = [*without(MAY_WAKE), ending]
    assert replace(asked(*objects), authority=None) == Rights(revoked_at=ends)
    assert replace(asked(*objects, at=ends), authority=None) == Rights(revoked=True)
    memory, facts = Memory(), facts_in(objects)
    answers = [memory.rights(facts, WATCH, at).revoked for at in (T0, ends - timedelta(seconds=1), ends)]
    assert answers == [False, False, True]


@dataclass(frozen=True)
class Edit:
    drop: int
    hours: int


@given(st.lists(st.builds(Edit, st.integers(0, 6), st.integers(0, 3)), max_size=6))
def test_what_is_remembered_is_what_a_fresh_question_answers(edits: Sequence[Edit]) -> None:
    ending = declared(
        "Grant",
        "wake",
        to="user:marta",
        agent="agent:triage",
        rights=["use", "wake"],
        expires="2026-11-30T13:30:00Z",
    )
    memory, at = Memory(), T0
    for edit in edits:
        at += timedelta(hours=edit.hours)
        everything = [POLICY, AGENT, ADMIN, MARTA, ending, MAY_OBSERVE]
        objects = [item for place, item in enumerate(everything) if place != edit.drop]
        facts = facts_in(objects)
        fresh = RIGHTS if facts is None else rights_of(facts, WATCH, at)
        assert memory.rights(facts, WATCH, at) == fresh


@pytest.mark.parametrize("gone", [MAY_WAKE, MAY_OBSERVE])
def test_messages_are_held_when_rights_go_and_freed_when_they_return(gone: CatalogObject) -> None:
    judged = Judged(T0, T0)
    less = without(gone)
    assert [c.effect for c in changes("acme", WHOLE, less, judged=judged)] == [Effect.REVOKED]
    assert [c.effect for c in changes("acme", less, WHOLE, judged=judged)] == [Effect.RESTORED]
    assert changes("acme", WHOLE, WHOLE, judged=judged) == ()


def principals(*objects: CatalogObject, at: datetime = T0) -> Any:
    manifest = Manifest(
        tenant="acme", epoch=1, version=1, issued_at=at, valid_until=at, root=HASH, entries={}, key_id="k"
    )
    return picture(manifest, objects)


@pytest.mark.parametrize(
    ("principal", "scopes", "agents"),
    [
        ("user:admin", ["*"], None),
        ("user:admin", ["read"], frozenset()),
        ("user:admin", ["operate"], None),
        ("user:marta", [], frozenset()),
        ("user:marta", ["agent:triage"], frozenset({"triage"})),
        ("agent:triage", [], frozenset({"triage"})),
        ("agent:triage", ["agent:writer"], frozenset({"triage"})),
    ],
)
def test_a_token_serves_the_mailboxes_that_are_its_principals(
    principal: str, scopes: list[str], agents: frozenset[str] | None
) -> None:
    found = principals(*WHOLE, declared("Token", "t", principal=principal, scopes=scopes))
    assert found.principals[HASH].agents == agents


@pytest.mark.parametrize("state", ["paused", "deleted"])
def test_a_principal_that_is_suspended_or_removed_has_no_token(state: str) -> None:
    token = declared("Token", "t", principal="user:marta", scopes=[])
    found = principals(*without(MARTA), MARTA.model_copy(update={"state": state}), token)
    assert found.principals == {}
