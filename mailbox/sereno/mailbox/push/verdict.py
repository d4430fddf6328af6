"""What an agent's answer to a push means for the run (contract §4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import orjson

from sereno.mailbox.outbound import Answer

MAX_RETRY_AFTER = timedelta(days=1)
_QUOTED = 200
# These say "not now", though their number says that the request was wrong.
_LATER = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True, slots=True)
class Done:
    """The agent has finished: `result` is what it answered, with `usage` where it reported some."""

    result: object
    usage: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class RunsOn:
    """The agent has the message and has not finished: a callback or the deadline ends the lease."""

    said: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The agent will never take this message."""

    reason: str


@dataclass(frozen=True, slots=True)
class Again:
    """Not now: another attempt, after `retry_after` or the server's back-off."""

    reason: str
    retry_after: timedelta | None = None


Verdict = Done | RunsOn | Refused | Again


def verdict(answer: Answer, now: datetime) -> Verdict:
    """Only 200 with a member `result` in a JSON object ends a run well.

    What is merely accepted, a duplicate of what the agent has, or acknowledged without a result runs on:
    the delivery id names this very lease, so whoever has seen it works under it.
    """
    status = answer.status
    if status == HTTPStatus.OK and answer.body is None:
        return Again("failed: the agent's answer is too large")
    if status == HTTPStatus.OK and (document := _object(answer.body)) is not None and "result" in document:
        usage = document.get("usage")
        return Done(document["result"], usage if isinstance(usage, dict) else None)
    if answer_is(status, 2):
        return RunsOn(f"the agent answered {status}{_quote(answer.body)}")
    said = f"the agent answered {status}{_quote(answer.body)}"
    if status in _LATER or not answer_is(status, 4):
        return Again(f"failed: {said}", retry_after(answer.headers.get("retry-after"), now))
    return Refused(said)


def answer_is(status: int, hundred: int) -> bool:
    """Whether a status is one of the two, three, four or five hundreds."""
    return status // 100 == hundred


def retry_after(text: str | None, now: datetime) -> timedelta | None:
    """What a `Retry-After` header asks for, at most a day; None for a missing or malformed one."""
    if text is None:
        return None
    if text.strip().isdecimal():
        seconds = min(int(text), int(MAX_RETRY_AFTER.total_seconds()))
        return timedelta(seconds=seconds)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(MAX_RETRY_AFTER, max(timedelta(0), aware - now))


def _object(body: bytes | None) -> Mapping[str, Any] | None:
    try:
        document = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None


def _quote(body: bytes | None) -> str:
    text = " ".join((body or b"").decode(errors="replace").replace("\0", "\ufffd").split())
    return f": {text[:_QUOTED]}" if text else ""
