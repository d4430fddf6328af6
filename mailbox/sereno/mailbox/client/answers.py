"""What the mailbox's HTTP API answered, or why it did not."""

from typing import Any

import httpx

_REFUSALS = {400, 401, 403, 404, 405, 409, 410, 413, 415, 422}


class MailboxError(Exception):
    """The mailbox did not do what it was asked."""


class MailboxRefusedError(MailboxError):
    """The API refuses this, and will again: a wrong token, an unknown agent, a bad argument."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class MailboxUnansweredError(MailboxError):
    """The API did not answer, or not now; asking again is right."""


def headers(token: str | None) -> dict[str, str]:
    """What each request carries."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def reading(answer: httpx.Response) -> Any:
    """The JSON of an answer. Raises `MailboxRefusedError` or `MailboxUnansweredError`."""
    if answer.is_success:
        return answer.json()
    if answer.status_code in _REFUSALS:
        raise MailboxRefusedError(answer.status_code, _detail(answer))
    raise MailboxUnansweredError(f"the mailbox answered {answer.status_code}")


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.request.url.path} answered {answer.status_code}"
