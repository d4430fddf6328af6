"""Subscriptions: every step of the life cycle is an event, and only its text raises the version."""

from dataclasses import replace

import pytest

from sereno.control_plane.catalog.event import NewEvent
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.subscription import EVENT_TYPES, Declare, Move
from sereno.control_plane.store.upcasters import CURRENT_VERSIONS
from sereno.subscriptions.lifecycle import TRANSITIONS, State
from tests.unit.control_plane.scenario import ANOTHER_ID, ID, event, given

WATCH = Address("acme", "Subscription", "refund-watch")
SPEC = {"instruction": "Draft a reply."}
OTHER = {"instruction": "Say hello."}
CREATED = event(
    "subscription.created", before=None, after="active", version=1, id=str(ID), spec=SPEC, labels={}
)
PAUSED = event("subscription.paused", before="active", after="paused", version=1)
DELETED = event("subscription.deleted", before="active", after="deleted", version=1)
DECLARE = Declare(WATCH, SPEC, {}, ID, "user:marta")


def move(verb: str, reason: str | None = "tests") -> Move:
    return Move(WATCH, verb, "user:marta", reason)  # type: ignore[arg-type]


@pytest.mark.req(75)
def test_a_persons_subscription_is_active_at_once() -> None:
    item = given(WATCH).when(DECLARE).then(CREATED)
    assert (item.id, item.version, item.revision, item.state) == (ID, 1, 1, State.ACTIVE)


def test_the_same_text_changes_nothing() -> None:
    given(WATCH, CREATED).when(replace(DECLARE, id=ANOTHER_ID)).then_nothing()


def test_another_text_is_the_next_version() -> None:
    edited = event("subscription.edited", before="active", after="active", version=2, spec=OTHER, labels={})
    item = given(WATCH, CREATED).when(replace(DECLARE, spec=OTHER)).then(edited)
    assert (item.version, item.spec) == (2, OTHER)


def test_an_edit_leaves_a_pause_alone() -> None:
    edited = event("subscription.edited", before="paused", after="paused", version=2, spec=OTHER, labels={})
    item = given(WATCH, CREATED, PAUSED).when(replace(DECLARE, spec=OTHER)).then(edited)
    assert item.state is State.PAUSED


def test_pausing_raises_the_revision_and_not_the_version() -> None:
    item = given(WATCH, CREATED).when(move("pause")).then(PAUSED)
    assert (item.version, item.revision, item.state) == (1, 2, State.PAUSED)


@pytest.mark.parametrize(
    ("verb", "past"), [("pause", (CREATED, PAUSED)), ("resume", (CREATED,)), ("resume", (CREATED, DELETED))]
)
def test_a_step_the_table_does_not_have_is_refused(verb: str, past: tuple[NewEvent, ...]) -> None:
    given(WATCH, *past).when(move(verb)).then_refused("not_allowed", 1)


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_people_say_why(reason: str | None) -> None:
    given(WATCH, CREATED).when(move("pause", reason)).then_refused("reason_required", 1)


def test_what_never_was_cannot_be_paused() -> None:
    given(WATCH).when(move("pause")).then_refused("not_found")


def test_a_deleted_name_yields_only_to_a_revival() -> None:
    given(WATCH, CREATED, DELETED).when(DECLARE).then_refused("deleted", 1)
    revived = event("subscription.revived", before="deleted", after="active", version=2, spec=SPEC, labels={})
    command = replace(DECLARE, id=ANOTHER_ID, revive=True, reason="needed again")
    item = given(WATCH, CREATED, DELETED).when(command).then(revived)
    assert (item.id, item.version, item.state) == (ID, 2, State.ACTIVE)


def test_a_written_version_must_be_current() -> None:
    given(WATCH, CREATED).when(replace(DECLARE, expected_version=2)).then_refused("version_conflict", 1)


def test_every_verb_of_the_life_cycle_has_its_type_of_event() -> None:
    assert set(EVENT_TYPES) == {"create"} | {verb for _, verb in TRANSITIONS}
    assert set(EVENT_TYPES.values()) <= CURRENT_VERSIONS.keys()
