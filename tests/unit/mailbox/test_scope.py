"""What a stop covers, and how its scope is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.mailbox.scope import FAMILIES, Scope

NAMES = st.sampled_from(["a", "b"])
SOURCES = st.sampled_from(["webhook/a", "time/b", "calendar/a", "platform", "mcp/a", "mcp/b"])
KINDS = ("agent", "subscription", "connector")


def scopes() -> st.SearchStrategy[Scope]:
    narrow = st.builds(
        lambda tenant, kind, name: Scope(tenant, **{kind: name}), NAMES, st.sampled_from(KINDS), NAMES
    )
    families = st.builds(
        lambda tenant, family: Scope(tenant, family=family), st.none() | NAMES, st.sampled_from(FAMILIES)
    )
    return st.builds(Scope, st.none() | NAMES) | narrow | families


@given(scopes())
def test_a_scope_reads_as_it_is_written(scope: Scope) -> None:
    assert Scope.parse(str(scope)) == scope


@given(scopes(), NAMES, NAMES, NAMES, SOURCES)
def test_a_narrower_scope_covers_no_more(
    scope: Scope, tenant: str, agent: str, subscription: str, source: str
) -> None:
    if scope.covers(tenant, agent, subscription, source):
        assert Scope().covers(tenant, agent, subscription, source)
        assert Scope(scope.tenant).covers(tenant, agent, subscription, source)
    assert scope.is_narrow == ("/" in str(scope))


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ({"reach": "*"}, "*"),
        ({"reach": "acme"}, "acme"),
        ({"reach": "*", "tenant": "globex"}, "globex"),
        ({"reach": "*", "agent": "agent:triage"}, "default/agent/triage"),
        ({"reach": "acme", "subscription": "watch"}, "acme/subscription/watch"),
        ({"reach": "*", "tenant": "acme", "connector": "mail"}, "acme/connector/mail"),
        ({"reach": "*", "family": "webhook"}, "*/family/webhook"),
        ({"reach": "acme", "family": "webhook"}, "acme/family/webhook"),
    ],
)
def test_what_somebody_means_depends_on_how_far_they_reach(named: dict[str, str], meant: str) -> None:
    home = "default" if named["reach"] == "*" else named["reach"]
    assert str(Scope.chosen(home=home, **named)) == meant


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"agent": "a", "family": "time"}, "agent, family: expected at most one"),
        ({"family": "smoke"}, "expected a family of time, calendar, webhook, platform, mcp, got smoke"),
        ({"tenant": "*"}, "tenant: expected its name"),
        ({"agent": "a/b"}, "scope: expected"),
    ],
)
def test_what_is_no_scope_says_why(named: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scope.chosen(reach="*", home="default", **named)
