"""Who asks: a bearer token, known by its hash."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from sereno.control_plane.catalog.token import EVERY_TENANT
from sereno.control_plane.store import projection
from sereno.mailbox.engine.problems import Problem

_scheme = HTTPBearer(
    auto_error=False, description="An API token (`srn_…`), such as the one that `sereno up` wrote."
)


@dataclass(frozen=True, slots=True)
class Principal:
    """Whose token it is."""

    name: str


async def authenticate(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]
) -> Principal:
    """The principal of a valid token that may administer every tenant; else a problem 401 or 403."""
    digest = hashlib.sha256((given.credentials if given else "").encode()).hexdigest()
    async with request.app.state.engine.connect() as connection:
        tokens = await projection.credentials(connection)
    # Every hash is compared, in constant time: how long it takes says nothing about the tokens.
    matching = [token for token in tokens if hmac.compare_digest(token.token_sha256 or "", digest)]
    if given is None or not matching:
        raise Problem(401, "unauthenticated", "a valid bearer token is needed")
    if EVERY_TENANT not in matching[0].spec["scopes"]:
        raise Problem(403, "forbidden", "this token may not administer the catalog")
    return Principal(matching[0].spec["principal"])


Authenticated = Annotated[Principal, Depends(authenticate)]
