"""Who calls: a worker's token, looked up by the process that mounts the router, or a lease bearer."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.engine import tracing
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal

Authenticate = Callable[[str], Awaitable[Principal | None]]
"""Answers whose bearer this is; None when it is nobody's."""


# Only the API's description needs it: what was shown is read below, where a refusal is a problem.
_Shown = Annotated[
    HTTPAuthorizationCredentials | None,
    Security(HTTPBearer(auto_error=False, description="A token (`srn_…`), or the bearer of one lease.")),
]


class Callers:
    """Dependencies of the routes: whoever may claim and read, and whoever may use a lease."""

    def __init__(self, authenticate: Authenticate, bearers: LeaseBearers) -> None:
        self._authenticate = authenticate
        self._bearers = bearers

    async def member(self, request: Request, _described: _Shown = None) -> Principal:
        """A worker or a person with a token of their own; a lease bearer reaches nothing here."""
        bearer = _bearer(request)
        if self._bearers.token_of(bearer) is not None:
            raise Problem(403, "forbidden", "a lease bearer is good for the verbs of its lease only")
        principal = await self._authenticate(bearer)
        if principal is None:
            raise _unauthenticated()
        return principal

    async def holder(self, request: Request, _described: _Shown = None) -> Principal:
        """The same, or who shows the bearer of one lease; what it does stands below the `traceparent` that it sends."""
        if tracing.active():
            tracing.called_by(request.headers.get("traceparent"))
        token = self._bearers.token_of(_bearer(request))
        return Principal("lease", token=token) if token is not None else await self.member(request)


def _bearer(request: Request) -> str:
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise _unauthenticated()
    return credential.strip()


def _unauthenticated() -> Problem:
    return Problem(401, "unauthenticated", "expected a valid token as 'Authorization: Bearer …'")
