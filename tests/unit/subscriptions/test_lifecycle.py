"""The life of a subscription: given its events, when a command, then events or a refusal."""

from collections.abc import Iterable
from functools import reduce
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from sereno.subscriptions.lifecycle import (
    BORN,
    REASONED,
    TRANSITIONS,
    Command,
    Create,
    Moved,
    Refusal,
    State,
    Step,
    Subscription,
    Verb,
    decide,
    diagram,
    evolve,
    initial,
)

MARTA = "user:marta"
CREATED = Moved("create", None, State.ACTIVE, MARTA, None, 1)
PAUSED = Moved("pause", State.ACTIVE, State.PAUSED, MARTA, "holidays", 1)


class Given:
    def __init__(self, *events: Moved) -> None:
        self.state = reduce(evolve, events, initial())

    def when(self, command: Command) -> "Given":
        self.answer = decide(self.state, command)
        return self

    def then(self, *events: Moved) -> None:
        assert self.answer == list(events)

    def then_refused(self, code: str, words: str) -> None:
        assert isinstance(self.answer, Refusal)
        assert self.answer.code == code
        assert words in self.answer.message


@pytest.mark.req(75)
def test_a_person_with_the_rights_gets_it_active() -> None:
    Given().when(Create(MARTA)).then(CREATED)


@pytest.mark.req(75)
def test_a_request_waits_for_approval_and_is_answered_once() -> None:
    asked = Moved("create", None, State.PENDING_APPROVAL, "agent:triage", "to follow refunds", 1)
    Given().when(Create("agent:triage", State.PENDING_APPROVAL, "to follow refunds")).then(asked)
    approved = Moved("approve", State.PENDING_APPROVAL, State.ACTIVE, MARTA, None, 1)
    Given(asked).when(Step("approve", MARTA)).then(approved)
    Given(asked).when(Step("reject", MARTA)).then_refused("reason_required", "reject needs a reason")
    Given(asked, approved).when(Step("approve", MARTA)).then_refused("not_allowed", "cannot approve")


def test_a_name_lives_once() -> None:
    Given(CREATED).when(Create(MARTA)).then_refused("exists", "is active")
    Given().when(Step("pause", MARTA, "x")).then_refused("unknown", "no such subscription")


@pytest.mark.req(75)
def test_people_pause_and_resume_with_a_reason() -> None:
    Given(CREATED).when(Step("pause", MARTA, "holidays")).then(PAUSED)
    Given(CREATED, PAUSED).when(Step("pause", MARTA, "again")).then_refused(
        "not_allowed", "cannot pause a subscription that is paused; it allows resume, edit, expire, delete"
    )
    resumed = Moved("resume", State.PAUSED, State.ACTIVE, MARTA, "back", 1)
    Given(CREATED, PAUSED).when(Step("resume", MARTA, "back")).then(resumed)
    for blank in (None, "", "  "):
        Given(CREATED, PAUSED).when(Step("resume", MARTA, blank)).then_refused(
            "reason_required", "resume needs"
        )


def test_an_edit_makes_a_version_and_keeps_the_state() -> None:
    edited = Moved("edit", State.PAUSED, State.PAUSED, MARTA, None, 2)
    Given(CREATED, PAUSED).when(Step("edit", MARTA, expected_version=1)).then(edited)
    Given(CREATED, PAUSED, edited).when(Step("edit", MARTA, expected_version=1)).then_refused(
        "version_conflict", "the current version is 2"
    )


def test_what_ended_by_itself_begins_again_with_an_edit() -> None:
    for verb, state in (("expire", State.EXPIRED), ("exhaust", State.EXHAUSTED)):
        ended = Moved(verb, State.ACTIVE, state, "platform", None, 1)
        Given(CREATED, ended).when(Step("edit", MARTA)).then(
            Moved("edit", state, State.ACTIVE, MARTA, None, 2)
        )
        Given(CREATED, ended).when(Step("pause", MARTA, "x")).then_refused("not_allowed", "cannot pause")


def test_a_deleted_name_yields_only_to_a_revival_with_a_reason() -> None:
    deleted = Moved("delete", State.ACTIVE, State.DELETED, MARTA, "done", 1)
    Given(CREATED, deleted).when(Step("edit", MARTA)).then_refused("not_allowed", "it allows revive")
    Given(CREATED, deleted).when(Step("revive", MARTA)).then_refused("reason_required", "revive needs")
    Given(CREATED, deleted).when(Step("revive", MARTA, "needed again")).then(
        Moved("revive", State.DELETED, State.ACTIVE, MARTA, "needed again", 2)
    )


@pytest.mark.parametrize(("state", "verb"), list(product(State, get_args(Verb))))
def test_exactly_the_tables_steps_are_taken(state: State, verb: Verb) -> None:
    answer = decide(Subscription(state, 3), Step(verb, MARTA, "because"))
    if (state, verb) in TRANSITIONS:
        assert isinstance(answer, list)
        assert [event.after for event in answer] == [TRANSITIONS[state, verb]]
    else:
        assert isinstance(answer, Refusal)
        assert answer.code == "not_allowed"


def test_every_state_is_reached_and_every_life_can_end() -> None:
    def reachable(start: Iterable[State]) -> set[State]:
        found = set(start)
        while more := {after for (before, _), after in TRANSITIONS.items() if before in found} - found:
            found |= more
        return found

    assert reachable(BORN) == set(State)
    assert all(State.DELETED in reachable([state]) for state in State)
    assert set(get_args(Verb)) >= REASONED


steps = st.builds(Step, st.sampled_from(get_args(Verb)), st.just(MARTA), st.none() | st.just("because"))


@for_all(st.lists(steps, max_size=20))
def test_versions_never_fall_and_refusals_change_nothing(commands: list[Step]) -> None:
    state = reduce(evolve, [CREATED], initial())
    for command in commands:
        answer = decide(state, command)
        after = state if isinstance(answer, Refusal) else reduce(evolve, answer, state)
        assert after.version - state.version in (0, 1)
        assert after.state is not None
        state = after


def test_the_documentation_shows_the_table() -> None:
    readme = Path(__file__).parents[3] / "subscriptions" / "README.md"
    assert f"```mermaid\n{diagram()}```\n" in readme.read_text(encoding="utf-8")
