"""The mailbox's HTTP API as a worker uses it."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from sereno.mailbox.worker.delivery import Delivery

REQUEST_SECONDS = 10.0
_REFUSALS = {400, 401, 403, 404, 405, 413, 415, 422}


class WorkerError(Exception):
    """The mailbox did not do what the worker asked."""


class WorkerRefusedError(WorkerError):
    """The API refuses this worker, and will again: a wrong token, an unknown agent, a bad argument."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WorkerUnansweredError(WorkerError):
    """The API did not answer, or not now; asking again is right."""


def headers(token: str | None) -> dict[str, str]:
    """What each request carries."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def reading(answer: httpx.Response) -> Any:
    """The JSON of an answer. Raises `WorkerRefusedError` or `WorkerUnansweredError`."""
    if answer.is_success:
        return answer.json()
    if answer.status_code in _REFUSALS:
        raise WorkerRefusedError(answer.status_code, _detail(answer))
    raise WorkerUnansweredError(f"the mailbox answered {answer.status_code}")


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.request.url.path} answered {answer.status_code}"


class WorkerApi:
    """Claims and lease verbs from asyncio; one connection pool a worker."""

    def __init__(self, url: str, token: str | None, tenant: str | None = None) -> None:
        self._query = f"?tenant={quote(tenant, safe='')}" if tenant else ""
        # The environment's proxies are for the internet; the token must not reach one.
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers(token), timeout=REQUEST_SECONDS, trust_env=False
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def claim(self, agent: str, body: Mapping[str, Any]) -> list[Delivery]:
        """Up to `max` messages, after at most `wait_seconds`."""
        timeout = REQUEST_SECONDS + float(body.get("wait_seconds", 0))
        answer = await self._post(f"/v1/mailboxes/{quote(agent, safe='')}/claim{self._query}", body, timeout)
        return [Delivery(document) for document in answer["messages"]]

    async def verb(self, name: str, items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """One lease verb over many leases; an answer an item."""
        answer = await self._post(f"/v1/leases/{name}", {"items": list(items)}, REQUEST_SECONDS)
        return list(answer["items"])

    async def _post(self, path: str, body: Mapping[str, Any], timeout: float) -> Any:  # noqa: ASYNC109 - httpx enforces it
        try:
            answer = await self._http.post(path, json=dict(body), timeout=timeout)
        except httpx.HTTPError as fault:
            raise WorkerUnansweredError(f"the mailbox does not answer: {type(fault).__name__}") from fault
        return reading(answer)
