"""Tokens: issued once, revoked for good; and which one is the administrator's."""

from sereno.control_plane.catalog import token
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.token import EVERY_TENANT, Issue, Revoke
from sereno.subscriptions.lifecycle import State
from tests.unit.control_plane.scenario import ANOTHER_ID, ID, SHA, event, given, happened

ADDRESS = Address(EVERY_TENANT, "Token", str(ID))
ISSUED = event(
    "token.issued",
    id=str(ID),
    token_sha256=SHA,
    principal="user:admin",
    scopes=["*"],
    expires=None,
    label=None,
)
ISSUE = Issue(EVERY_TENANT, ID, SHA, "user:admin", ("*",))


def live() -> Item:
    item = happened(ADDRESS, ISSUED)
    assert item is not None
    return item


def test_is_issued_once() -> None:
    item = given(ADDRESS).when(ISSUE).then(ISSUED)
    assert (item.token_sha256, item.spec) == (SHA, {"principal": "user:admin", "scopes": ["*"]})
    given(ADDRESS, ISSUED).when(ISSUE).then_nothing()


def test_a_revoked_one_keeps_no_hash_and_never_returns() -> None:
    revoked = event("token.revoked")
    item = given(ADDRESS, ISSUED).when(Revoke(ADDRESS)).then(revoked)
    assert (item.state, item.token_sha256) == (State.DELETED, None)
    given(ADDRESS, ISSUED, revoked).when(Revoke(ADDRESS)).then_nothing()
    given(ADDRESS, ISSUED, revoked).when(ISSUE).then_nothing()


def test_the_first_start_issues_the_administrators() -> None:
    assert token.bootstrap([], SHA, ID, "user:admin") == (ISSUE, ())


def test_a_later_start_leaves_it() -> None:
    assert token.bootstrap([live()], SHA, ANOTHER_ID, "user:admin") == (None, ())


def test_another_hash_replaces_it() -> None:
    issue, outdated = token.bootstrap([live()], "cd" * 32, ANOTHER_ID, "user:admin")
    assert issue == Issue(EVERY_TENANT, ANOTHER_ID, "cd" * 32, "user:admin", ("*",))
    assert outdated == (live(),)
