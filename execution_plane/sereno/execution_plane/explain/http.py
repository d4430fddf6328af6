"""The HTTP form of explain: `GET /v1/explain/{id}?why_not=&subscription=&tenant=`."""

from collections.abc import Callable
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Response

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.explain import gather
from sereno.execution_plane.explain.asked import EXPECTED, Found, find
from sereno.execution_plane.explain.evidence import Evidence, Incomplete
from sereno.execution_plane.explain.explanation import Question, explain
from sereno.execution_plane.explain.versions import Versions
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The route over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes, versions = APIRouter(tags=["explain"]), Versions()

    @routes.get(
        "/v1/explain/{identifier:path}",
        summary="Why an agent woke, and why it did not",
        response_model=dict[str, Any],
    )
    async def explanation(
        identifier: str,
        principal: Annotated[Principal, Depends(authenticate)],
        why_not: Annotated[bool, Query(description="also the subscriptions that it did not concern")] = False,
        subscription: Annotated[str | None, Query(description="only this subscription")] = None,
        tenant: Annotated[str | None, Query(description="default: where the id is found")] = None,
    ) -> Response:
        principal = principal.reader()
        tenants = _tenants(principal, catalog, tenant)
        async with pool.acquire() as conn:
            asked = await _asked(conn, principal, tenants, identifier)
            found = None if asked is None else await _gather(conn, versions, asked, why_not=why_not)
            if found is None or not _may_read(principal, found):
                raise Problem(404, "not_found", f"nothing is known of {identifier}; expected {EXPECTED}")
        try:
            told = explain(found, Question(why_not, subscription))
        except LookupError as fault:
            raise Problem(404, "not_found", str(fault.args[0])) from fault
        except Incomplete as fault:
            raise _incomplete(identifier, fault) from fault
        return Response(orjson.dumps(told, option=orjson.OPT_UTC_Z), media_type="application/json")

    return routes


def _tenants(principal: Principal, catalog: Catalog, tenant: str | None) -> list[str]:
    reach = [known.tenant for known in catalog.tenants if principal.tenant in ("*", known.tenant)]
    return [known for known in reach if tenant in (None, known)]


async def _asked(
    conn: AnyConnection, principal: Principal, tenants: list[str], identifier: str
) -> Found | None:
    try:
        return await find(conn, tenants, identifier)
    except Problem as problem:
        # What an event's id or an instant leads to is told to those who may read about everything.
        if problem.code != "bad_input" and (principal.token is not None or principal.agents is not None):
            return None
        raise


async def _gather(conn: AnyConnection, versions: Versions, asked: Found, *, why_not: bool) -> Evidence | None:
    try:
        if asked.prefix == "rcp":
            return await gather.of_receipt(
                conn, asked.tenant, asked.identifier, why_not=why_not, versions=versions
            )
        if asked.prefix == "sus":
            return await gather.of_suspension(conn, asked.tenant, asked.identifier, versions=versions)
        return await gather.of_message(conn, asked.tenant, asked.identifier, versions=versions)
    except Incomplete as fault:
        raise _incomplete(to_people(asked.prefix, asked.identifier), fault) from fault


def _may_read(principal: Principal, found: Evidence) -> bool:
    """A worker bound to agents reads about their messages alone; who is not bound reads about everything."""
    if principal.token is not None:
        return False
    agents = {message["agent"] for message in found.messages.values()}
    return principal.agents is None or (found.asked is not None and agents <= principal.agents)


def _incomplete(identifier: str, fault: Incomplete) -> Problem:
    return Problem(500, "incomplete", f"{identifier} cannot be explained whole: {fault}")
