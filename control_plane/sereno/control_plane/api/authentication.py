"""Who asks: a bearer token, known by its hash; and in which tenant."""

import hashlib
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.item import Item
from sereno.control_plane.minting import utc_now
from sereno.control_plane.store import projection
from sereno.control_plane.store.tables import TOKEN_USE
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.models.types import parse_instant

USE_KEPT_EVERY = timedelta(minutes=1)
_scheme = HTTPBearer(
    auto_error=False, description="An API token (`srn_…`), such as the one that `sereno up` wrote."
)


class TokenUses:
    """When each token was last seen; written at most once a minute for each."""

    def __init__(self) -> None:
        self._written: dict[str, datetime] = {}

    async def note(self, connection: AsyncConnection, token: Item, at: datetime) -> None:
        """Remember that the token was shown."""
        last = self._written.get(token.name)
        if last is not None and at - last < USE_KEPT_EVERY:
            return
        row = {"tenant_id": token.address.tenant, "token": token.name, "last_used_at": at}
        statement = insert(TOKEN_USE).values(row)
        keys = ["tenant_id", "token"]
        newer = TOKEN_USE.c.last_used_at < statement.excluded.last_used_at
        await connection.execute(
            statement.on_conflict_do_update(
                index_elements=keys, set_={"last_used_at": statement.excluded.last_used_at}, where=newer
            )
        )
        await connection.commit()
        self._written[token.name] = at


async def authenticate(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]
) -> Caller:
    """The principal of a valid token; else a problem 401, which is the same for everybody."""
    digest = hashlib.sha256((given.credentials if given else "").encode()).hexdigest()
    at = utc_now()
    async with request.app.state.engine.connect() as connection:
        token = await projection.credential(connection, digest) if given else None
        if token is None or _expired(token, at):
            raise Problem(401, "unauthenticated", "a valid bearer token is needed")
        await request.app.state.token_uses.note(connection, token, at)
    return Caller(
        token.spec["principal"],
        token.address.tenant,
        frozenset(scope for scope in token.spec.get("scopes", ()) if scope != "*"),
        token.name,
    )


def _expired(token: Item, at: datetime) -> bool:
    expires = token.spec.get("expires")
    return expires is not None and at >= parse_instant(expires)


Authenticated = Annotated[Caller, Depends(authenticate)]


async def tenant_of(
    caller: Authenticated,
    tenant: Annotated[str | None, Query(description="Whose objects; the token's own, if not given.")] = None,
) -> str:
    """The tenant that is meant; a problem 403 when it is not the caller's, the same whether it exists or not."""
    meant = caller.home if tenant is None else tenant
    if not caller.reaches(meant):
        raise Problem(403, "forbidden", f"this token does not reach tenant {meant}")
    return meant


Tenant = Annotated[str, Depends(tenant_of)]
