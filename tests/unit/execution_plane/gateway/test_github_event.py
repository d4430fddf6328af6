from datetime import UTC, datetime
from typing import Any

import pytest

from sereno.execution_plane.gateway import github_event
from sereno.execution_plane.gateway.github_event import SHAPES

REPOSITORY = {"id": 1, "full_name": "acme/shop", "url": "https://api.github.com/repos/acme/shop"}
SENDER = {"login": "marta", "id": 7}
ISSUE = {"number": 12, "id": 99, "updated_at": "2026-11-30T10:00:00Z"}
PULL = {"number": 13, "id": 98, "updated_at": "2026-11-30T10:00:00Z"}


def body(**members: Any) -> dict[str, Any]:
    return {"repository": REPOSITORY, "sender": SENDER, **members}


BODIES: dict[str, dict[str, Any]] = {
    "check_run": body(action="completed", check_run={"id": 5, "check_suite": {}}),
    "check_suite": body(action="completed", check_suite={"id": 5}),
    "commit_comment": body(action="created", comment={"id": 5}),
    "create": body(ref="v1", ref_type="tag", master_branch="main", pusher_type="user"),
    "delete": body(ref="v1", ref_type="tag", pusher_type="user"),
    "deployment": body(action="created", deployment={"id": 5}),
    "deployment_status": body(action="created", deployment={"id": 5}, deployment_status={"id": 6}),
    "discussion": body(action="created", discussion={"number": 4}),
    "discussion_comment": body(action="created", discussion={"number": 4}, comment={"id": 5}),
    "fork": body(forkee={"id": 5}),
    "issue_comment": body(action="created", issue=ISSUE, comment={"id": 5}),
    "issues": body(action="opened", issue=ISSUE),
    "label": body(action="created", label={"id": 5}),
    "member": body(action="added", member={"id": 5}),
    "milestone": body(action="created", milestone={"number": 5}),
    "ping": body(zen="Keep it logically awesome.", hook_id=5, hook={}),
    "pull_request": body(action="opened", number=13, pull_request=PULL),
    "pull_request_review": body(action="submitted", pull_request=PULL, review={"id": 5}),
    "pull_request_review_comment": body(action="created", pull_request=PULL, comment={"id": 5}),
    "pull_request_review_thread": body(action="resolved", pull_request=PULL, thread={}),
    "push": body(
        ref="refs/heads/main",
        before="0",
        after="1",
        commits=[],
        head_commit={"timestamp": "2026-11-30T11:00:00+01:00"},
    ),
    "release": body(action="published", release={"tag_name": "v1", "id": 5}),
    "star": body(action="created", starred_at="2026-11-30T10:00:00Z"),
    "status": body(sha="1", state="success", context="ci", id=5),
    "workflow_job": body(action="completed", workflow_job={"id": 5}),
    "workflow_run": body(action="completed", workflow_run={"id": 5}, workflow={}),
}


def test_there_is_a_body_for_every_shape() -> None:
    assert BODIES.keys() == SHAPES.keys()


@pytest.mark.parametrize("event", sorted(BODIES))
def test_a_body_has_the_shape_of_its_own_event_and_of_no_other(event: str) -> None:
    assert [name for name in SHAPES if github_event.agrees(name, BODIES[event])] == [event]


def read(claimed: str | None, content: dict[str, Any]) -> Any:
    return github_event.read(content, claimed_event=claimed, event_id="d-1", fallback_source="webhook/hub")


def test_type_source_subject_actor_and_time_come_from_the_body() -> None:
    event = read("issues", BODIES["issues"])
    assert (event.type, event.source, event.subject) == ("com.github.issues.opened", REPOSITORY["url"], "12")
    assert event.time == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert github_event.actor(BODIES["issues"]) == "marta"
    assert event.id == "d-1"
    assert event.data == BODIES["issues"]


def test_an_event_without_action_is_typed_by_its_name_and_located_by_its_ref() -> None:
    event = read("push", BODIES["push"])
    assert (event.type, event.subject) == ("com.github.push", "refs/heads/main")
    assert event.time == datetime(2026, 11, 30, 10, tzinfo=UTC)


@pytest.mark.parametrize("claimed", [None, "", "issue_comment", "unheard_of", "../issues"])
def test_a_header_that_the_body_does_not_confirm_is_not_believed(claimed: str | None) -> None:
    event = read(claimed, BODIES["issues"])
    assert event.type == "sereno.webhook.received"
    assert event.source == REPOSITORY["url"]


@pytest.mark.parametrize("action", [None, 3, "", "opened.again", "öffnen", ["opened"]])
def test_an_action_that_is_no_plain_word_is_no_action(action: Any) -> None:
    assert read("issues", BODIES["issues"] | {"action": action}).type == "sereno.webhook.received"


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"repository": None, "sender": "marta"},
        {"repository": {"url": 5}},
        {"repository": [], "sender": {"login": 1}},
    ],
)
def test_strange_bodies_fall_back_and_never_fail(content: dict[str, Any]) -> None:
    event = read("issues", content)
    assert (event.type, event.source, event.subject) == ("sereno.webhook.received", "webhook/hub", None)
    assert github_event.actor(content) is None


@pytest.mark.parametrize("written", ["yesterday", "2026-11-30T10:00:00", 5, None])
def test_a_time_that_names_no_moment_is_left_out(written: Any) -> None:
    assert read("issues", body(action="opened", issue={"number": 1, "updated_at": written})).time is None
