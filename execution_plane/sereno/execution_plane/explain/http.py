"""The HTTP form of explain: `GET /v1/explain/{id}?why_not=&subscription=&tenant=`."""

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from sereno.envelope.identifiers import from_people
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.explain import gather
from sereno.execution_plane.explain.evidence import Evidence, Incomplete
from sereno.execution_plane.explain.explanation import Question, explain
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal

EXPLAINABLE = ("", "rcp", "msg")


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The route over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes = APIRouter(tags=["explain"])

    @routes.get("/v1/explain/{identifier}", summary="Why an agent woke, and why it did not")
    async def explanation(
        identifier: str,
        principal: Annotated[Principal, Depends(authenticate)],
        why_not: Annotated[bool, Query(description="also the subscriptions that it did not concern")] = False,
        subscription: Annotated[str | None, Query(description="only this subscription")] = None,
        tenant: Annotated[str | None, Query(description="default: where the id is found")] = None,
    ) -> dict[str, Any]:
        prefix, number = _identifier(identifier)
        tenants = _tenants(principal, catalog, tenant)
        async with pool.acquire() as conn:
            found = await _find(conn, tenants, prefix, number, why_not=why_not)
            if found is None or not _may_read(principal, found):
                raise Problem(404, "not_found", f"nothing is known of {identifier}")
        try:
            return explain(found, Question(why_not, subscription))
        except LookupError as fault:
            raise Problem(404, "not_found", str(fault.args[0])) from fault
        except Incomplete as fault:
            raise _incomplete(identifier, fault) from fault

    return routes


def _identifier(text: str) -> tuple[str, UUID]:
    try:
        prefix, number = from_people(text)
    except ValueError as fault:
        raise Problem(422, "bad_input", str(fault)) from fault
    if prefix not in EXPLAINABLE:
        raise Problem(422, "bad_input", f"{prefix}_… cannot be explained yet; expected rcp_… or msg_…")
    return prefix, number


def _tenants(principal: Principal, catalog: Catalog, tenant: str | None) -> list[str]:
    reach = [known.tenant for known in catalog.tenants if principal.tenant in ("*", known.tenant)]
    return [known for known in reach if tenant in (None, known)]


async def _find(
    conn: AnyConnection, tenants: list[str], prefix: str, number: UUID, *, why_not: bool
) -> Evidence | None:
    try:
        if prefix != "msg":
            home = await gather.tenant_of(conn, tenants, "rcp", number)
            if home is not None:
                return await gather.of_receipt(conn, home, number, why_not=why_not)
        if prefix != "rcp":
            home = await gather.tenant_of(conn, tenants, "msg", number)
            if home is not None:
                return await gather.of_message(conn, home, number)
    except Incomplete as fault:
        raise _incomplete(str(number), fault) from fault
    return None


def _may_read(principal: Principal, found: Evidence) -> bool:
    """A worker bound to agents reads about their messages alone; who is not bound reads about everything."""
    if principal.token is not None:
        return False
    agents = {message["agent"] for message in found.messages.values()}
    return principal.agents is None or (found.asked is not None and agents <= principal.agents)


def _incomplete(identifier: str, fault: Incomplete) -> Problem:
    return Problem(500, "incomplete", f"{identifier} cannot be explained whole: {fault}")
