"""What a GitHub webhook means: type, source, subject, actor and time, all taken from the signed body.

The header `X-GitHub-Event` is outside the signature. It is believed only when the body has the shape of that event;
otherwise a captured body could be replayed under another type. Names follow the CloudEvents adapter for GitHub.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sereno.envelope.event import Event
from sereno.envelope.types import WEBHOOK_RECEIVED

Body = Mapping[str, Any]
_NOTHING: Body = {}


@dataclass(frozen=True, slots=True)
class Shape:
    """The top-level members that tell one event's body from all others."""

    has: frozenset[str]
    lacks: frozenset[str] = frozenset()
    action: bool = True
    noun: str | None = None
    """The member that the event is about: its number or id becomes the subject, its times the time."""

    def fits(self, body: Body) -> bool:
        """Whether the body has this shape."""
        keys = body.keys()
        return self.has <= keys and self.lacks.isdisjoint(keys) and (_action(body) is not None) == self.action


def _shape(*has: str, lacks: tuple[str, ...] = (), action: bool = True, noun: str = "") -> Shape:
    return Shape(frozenset(has), frozenset(lacks), action, noun or None)


SHAPES: Mapping[str, Shape] = {
    "check_run": _shape("check_run", noun="check_run"),
    "check_suite": _shape("check_suite", lacks=("check_run",), noun="check_suite"),
    "commit_comment": _shape("comment", lacks=("issue", "pull_request", "discussion"), noun="comment"),
    "create": _shape("ref", "ref_type", "master_branch", action=False),
    "delete": _shape("ref", "ref_type", lacks=("master_branch",), action=False),
    "deployment": _shape(
        "deployment", lacks=("deployment_status", "check_run", "workflow_job"), noun="deployment"
    ),
    "deployment_status": _shape("deployment", "deployment_status", noun="deployment_status"),
    "discussion": _shape("discussion", lacks=("comment",), noun="discussion"),
    "discussion_comment": _shape("discussion", "comment", noun="discussion"),
    "fork": _shape("forkee", action=False, noun="forkee"),
    "issue_comment": _shape("issue", "comment", noun="issue"),
    "issues": _shape("issue", lacks=("comment",), noun="issue"),
    "label": _shape("label", lacks=("issue", "pull_request", "discussion"), noun="label"),
    "member": _shape("member", lacks=("team",), noun="member"),
    "milestone": _shape("milestone", lacks=("issue", "pull_request"), noun="milestone"),
    "ping": _shape("zen", "hook_id", action=False),
    "pull_request": _shape("pull_request", lacks=("review", "comment", "thread"), noun="pull_request"),
    "pull_request_review": _shape("pull_request", "review", noun="pull_request"),
    "pull_request_review_comment": _shape("pull_request", "comment", noun="pull_request"),
    "pull_request_review_thread": _shape("pull_request", "thread", noun="pull_request"),
    "push": _shape("ref", "before", "after", "commits", action=False),
    "release": _shape("release", noun="release"),
    "star": _shape("starred_at"),
    "status": _shape("sha", "state", "context", action=False),
    "workflow_job": _shape("workflow_job", noun="workflow_job"),
    "workflow_run": _shape("workflow_run", noun="workflow_run"),
}
"""Every event whose header can be checked against its body; others arrive as `sereno.webhook.received`."""


def read(body: Body, *, claimed_event: str | None, event_id: str, fallback_source: str) -> Event:
    """The CloudEvent of a GitHub body, its data cut down; `claimed_event` is the unsigned header, `event_id` the delivery id."""
    event = claimed_event if claimed_event is not None and agrees(claimed_event, body) else None
    noun = _noun(event, body)
    return Event(
        id=event_id,
        source=_source(body) or fallback_source,
        type=_type(event, body),
        time=_time(noun, body),
        subject=_subject(noun, body),
        datacontenttype="application/json",
        data=kept(body),
    )


def agrees(event: str, body: Body) -> bool:
    """Whether the body has the shape of that event."""
    shape = SHAPES.get(event)
    return shape is not None and shape.fits(body)


def actor(body: Body) -> str | None:
    """Who acted, as GitHub names them: the login of `sender`."""
    return _text(_member(body, "sender"), "login")


# Long descriptions of who and where, repeated in every body.
_KEPT: Mapping[str, frozenset[str]] = {
    "repository": frozenset({"id", "name", "full_name", "private", "html_url", "url", "default_branch"}),
    "organization": frozenset({"id", "login", "url"}),
    "enterprise": frozenset({"id", "slug"}),
    "installation": frozenset({"id"}),
    "sender": frozenset({"id", "login", "type"}),
}


def kept(body: Body) -> Body:
    """The body with what it repeats about its surroundings cut down to names."""
    found = dict(body)
    for name, keys in _KEPT.items():
        value = found.get(name)
        if isinstance(value, dict):
            found[name] = {key: value[key] for key in value if key in keys}
    return found


def _type(event: str | None, body: Body) -> str:
    if event is None:
        return WEBHOOK_RECEIVED
    action = _action(body)
    return f"com.github.{event}.{action}" if action else f"com.github.{event}"


def _action(body: Body) -> str | None:
    action = body.get("action")
    plain = isinstance(action, str) and action.isascii() and action.replace("_", "").isalpha()
    return action if plain else None


def _noun(event: str | None, body: Body) -> Body:
    name = SHAPES[event].noun if event is not None else None
    return _member(body, name) if name is not None else {}


def _source(body: Body) -> str | None:
    return _text(_member(body, "repository"), "url") or _text(_member(body, "organization"), "url")


def _subject(noun: Body, body: Body) -> str | None:
    for key in ("number", "tag_name", "id"):
        value = noun.get(key)
        if isinstance(value, int | str) and not isinstance(value, bool) and value != "":
            return str(value)
    return _text(body, "ref")


def _time(noun: Body, body: Body) -> datetime | None:
    text = (
        _text(noun, "updated_at")
        or _text(noun, "created_at")
        or _text(body, "starred_at")
        or _text(_member(body, "head_commit"), "timestamp")
    )
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment is not None and moment.tzinfo is not None else None


def _member(body: Body, name: str) -> Body:
    value = body.get(name)
    # What was parsed is a dict; to ask for a mapping takes five times as long, and this is asked often.
    return value if isinstance(value, dict) else _NOTHING


def _text(body: Body, name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) and value else None
