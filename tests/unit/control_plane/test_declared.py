"""Tenants, agents and endpoints: absent, active, deleted, revived."""

from dataclasses import replace

from sereno.control_plane.catalog.declared import Declare, Withdraw
from sereno.control_plane.catalog.item import Address
from sereno.subscriptions.lifecycle import State
from tests.unit.control_plane.scenario import ANOTHER_ID, ID, SHA, T0, event, given

ENDPOINT = Address("acme", "Endpoint", "zendesk")
SPEC = {"scheme": "github"}
OTHER = {"scheme": "hmac"}
DECLARED = event("endpoint.declared", id=str(ID), spec=SPEC, labels={"a": "b"}, token_sha256=SHA)
EDITED = event("endpoint.edited", spec=OTHER, labels={})
DELETED = event("endpoint.deleted")
DECLARE = Declare(ENDPOINT, SPEC, {"a": "b"}, ID, SHA)


def test_a_new_name_is_declared() -> None:
    item = given(ENDPOINT).when(DECLARE).then(DECLARED)
    assert (item.id, item.version, item.revision, item.state) == (ID, 1, 1, State.ACTIVE)
    assert (item.token_sha256, item.created_by, item.created_at) == (SHA, "user:marta", T0)


def test_the_same_text_changes_nothing() -> None:
    given(ENDPOINT, DECLARED).when(replace(DECLARE, id=ANOTHER_ID, token_sha256="cd" * 32)).then_nothing()


def test_another_text_is_the_next_version_with_the_same_id_and_token() -> None:
    item = given(ENDPOINT, DECLARED).when(Declare(ENDPOINT, OTHER, {}, ANOTHER_ID, "cd" * 32)).then(EDITED)
    assert (item.id, item.version, item.token_sha256, item.spec) == (ID, 2, SHA, OTHER)


def test_labels_are_text_too() -> None:
    edited = event("endpoint.edited", spec=SPEC, labels={})
    given(ENDPOINT, DECLARED).when(replace(DECLARE, labels={})).then(edited)


def test_a_written_version_must_be_current() -> None:
    given(ENDPOINT, DECLARED, EDITED).when(replace(DECLARE, expected_version=1)).then_refused(
        "version_conflict", 2
    )
    given(ENDPOINT).when(replace(DECLARE, expected_version=1)).then_refused("version_conflict", 0)
    given(ENDPOINT, DECLARED).when(replace(DECLARE, expected_version=1)).then_nothing()


def test_deleting_takes_the_token_and_keeps_the_name() -> None:
    item = given(ENDPOINT, DECLARED).when(Withdraw(ENDPOINT)).then(DELETED)
    assert (item.state, item.token_sha256, item.live) == (State.DELETED, None, False)
    refusal = given(ENDPOINT, DECLARED, DELETED).when(DECLARE).then_refused("deleted", 1)
    assert "apply --revive --reason" in refusal.message


def test_deleting_twice_is_deleting_once_and_deleting_nothing_is_refused() -> None:
    given(ENDPOINT, DECLARED, DELETED).when(Withdraw(ENDPOINT)).then_nothing()
    given(ENDPOINT).when(Withdraw(ENDPOINT)).then_refused("not_found")


def test_a_revival_goes_on_with_the_old_id_and_a_new_token() -> None:
    revived = event("endpoint.revived", spec=SPEC, labels={"a": "b"}, token_sha256="cd" * 32)
    command = replace(DECLARE, id=ANOTHER_ID, token_sha256="cd" * 32, revive=True)
    item = given(ENDPOINT, DECLARED, DELETED).when(command).then(revived)
    assert (item.id, item.version, item.revision, item.state) == (ID, 2, 3, State.ACTIVE)
    assert item.token_sha256 == "cd" * 32


def test_reviving_what_lives_is_declaring_it() -> None:
    given(ENDPOINT, DECLARED).when(replace(DECLARE, revive=True)).then_nothing()
