"""`GET /v1/data/{sensitivity}/{address}`: what the `dataref` of an envelope points to."""

from collections.abc import Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response

from sereno.envelope.identifiers import from_people
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.large_data import store
from sereno.execution_plane.large_data.forgetting import KEPT
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import problem_details
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal

Sensitivity = Literal["public", "internal", "confidential", "unclassified"]
Address = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="as the `dataref` says it")]
Message = Annotated[
    str | None, Query(description="the message that carries the reference, for a token bound to agents")
]
# Whatever a stranger sent is never run by a browser that is shown it.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
    "Cache-Control": "private, no-store",
}


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The route over `pool`; `authenticate` answers the principal, also of a lease bearer, or raises."""
    routes = APIRouter(prefix="/v1", tags=["data"])

    @routes.get(
        "/data/{sensitivity}/{address}",
        summary="Large data of an event, by its reference",
        response_class=Response,
        responses={
            200: {"content": {"*/*": {}}, "description": "The data, as its sender sent it"},
            **problem_details.answers({410: "A message carries it, but it is kept no longer"}),
        },
    )
    async def data(
        sensitivity: Sensitivity,
        address: Address,
        caller: Annotated[Principal, Depends(authenticate)],
        message: Message = None,
    ) -> Response:
        reach = [known.tenant for known in catalog.tenants if caller.tenant in {"*", known.tenant}]
        reference = f"/v1/data/{sensitivity}/{address}"
        tenants = await store.readable_in(pool, caller, reach, reference, _message(message))
        if not tenants:
            raise Problem(403, "data_denied", "this token has no message that carries the reference")
        kept = await store.read(pool, tenants, sensitivity, address)
        if kept is None and (caller.agents is not None or caller.token is not None):
            # A message of theirs carries it, so it was here.
            raise Problem(
                410, "removed", f"data is kept for {KEPT.days} days after it last came; this is gone"
            )
        if kept is None:
            raise Problem(
                404, "not_found", f"there is no such data, or no longer: it is kept for {KEPT.days} days"
            )
        return Response(kept.data, headers=_HEADERS, media_type=kept.media_type)

    return routes


def _message(text: str | None) -> UUID | None:
    try:
        return None if text is None else from_people(text)[1]
    except ValueError as fault:
        raise Problem(422, "bad_input", f"message: {fault}") from fault
