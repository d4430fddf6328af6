"""Both planes as one agent sees them: every question goes through their APIs with the agent's own token.

So nothing here decides what the agent may: the token does, as it does over HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

AWAY = "the control plane does not answer: requests wait until it is back, and what is approved goes on"


class RefusedError(Exception):
    """A plane said no, or did not answer; the message is what the agent is told."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Planes:
    """Connections that outlive the questions."""

    control: httpx.AsyncClient
    execution: httpx.AsyncClient


@dataclass(frozen=True, slots=True)
class Asking:
    """One agent with its token."""

    planes: Planes
    bearer: str
    agent: str
    """Without `agent:`."""
    tenant: str

    async def control(self, method: str, path: str, **options: Any) -> Any:
        """Ask the catalog. Raises `RefusedError`."""
        return await self._ask(self.planes.control, method, path, AWAY, options)

    async def execution(self, method: str, path: str, **options: Any) -> Any:
        """Ask this plane. Raises `RefusedError`."""
        return await self._ask(self.planes.execution, method, path, "it does not answer; try again", options)

    async def _ask(
        self, client: httpx.AsyncClient, method: str, path: str, away: str, options: Mapping[str, Any]
    ) -> Any:
        try:
            answer = await client.request(
                method, path, headers={"Authorization": f"Bearer {self.bearer}"}, **options
            )
        except httpx.TransportError as fault:
            raise RefusedError(away) from fault
        if answer.is_success:
            return answer.json()
        raise RefusedError(_sentence(answer), answer.status_code)


def _sentence(answer: httpx.Response) -> str:
    """What the problem says, with each field that is wrong."""
    try:
        problem = answer.json()
    except ValueError:
        return f"the answer was {answer.status_code}"
    said = [str(problem.get("detail") or problem.get("code") or answer.status_code)]
    said += [f"{fault.get('path')}: {fault.get('message')}" for fault in problem.get("faults") or ()]
    return "\n".join(said)
