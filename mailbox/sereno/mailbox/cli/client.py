"""A synchronous HTTP client for commands: answers as JSON, failures as `CommandError`."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from sereno.mailbox.cli.exits import CommandError, Exit, of_status

TIMEOUT_SECONDS = 30.0


class ProblemError(CommandError):
    """A plane refused: the sentence for people, and the problem details (RFC 9457) for a command that says more."""

    def __init__(self, message: str, exit_code: Exit, problem: Mapping[str, Any]) -> None:
        super().__init__(message, exit_code)
        self.problem = problem


class Client:
    """Asks one plane with a bearer token."""

    def __init__(self, url: str, token: str | None, *, timeout: float = TIMEOUT_SECONDS) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        # The environment's proxies are for the internet; the token must not reach one.
        try:
            self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=False)
        except httpx.InvalidURL as fault:
            raise CommandError(f"{url} is no address: {fault}") from fault

    def get(self, path: str, **query: Any) -> Any:
        """GET with the query parameters that are not `None`."""
        return self.ask("GET", path, params={key: value for key, value in query.items() if value is not None})

    def post(self, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> Any:
        """POST a JSON body."""
        params = {key: value for key, value in query.items() if value is not None}
        return self.ask("POST", path, params=params, json=dict(body or {}))

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """The JSON answer. Raises `CommandError` with the sentence of the problem and its exit code."""
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TimeoutException as fault:
            raise CommandError(f"{self._url} does not answer in time", Exit.UNREACHABLE) from fault
        except (httpx.TransportError, httpx.InvalidURL) as fault:
            raise CommandError(f"{self._url} does not answer: {fault}", Exit.UNREACHABLE) from fault
        if answer.is_success:
            return _json(answer, self._url)
        problem = _problem(answer)
        raise ProblemError(_sentence(problem), of_status(answer.status_code), problem)


def _json(answer: httpx.Response, url: str) -> Any:
    try:
        return answer.json() if answer.content else None
    except ValueError as fault:
        raise CommandError(
            f"{url} is no plane of Sereno: it does not answer JSON", Exit.UNREACHABLE
        ) from fault


def _problem(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if isinstance(problem, dict):
        return problem
    return {"detail": f"{answer.request.url.path} answered {answer.status_code}"}


def _sentence(problem: Mapping[str, Any]) -> str:
    faults = problem.get("faults") or []
    lines = [f"{_place(fault)}: {fault['message']}" for fault in faults]
    return "\n".join(lines) or str(problem.get("detail") or problem.get("code"))


def _place(fault: Mapping[str, Any]) -> str:
    line = fault.get("line")
    return f"line {line}: {fault['path']}" if line else str(fault["path"])


def segment(name: str, argument: str) -> str:
    """A name as one segment of a path. Raises `CommandError` naming the command's argument when it is empty."""
    if not name.strip():
        raise CommandError(f"{argument}: expected a name or an id, got an empty text")
    return quote(name, safe="")
