"""`GET /v1/stops` and `POST /v1/stops`: the stop at the data path itself, for when the control plane is away."""

from collections.abc import Callable
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from sereno.execution_plane.stops.carrying_out import engage, states
from sereno.mailbox.audit.intents import Intent
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.http.shapes import Stored
from sereno.mailbox.principal import Principal
from sereno.mailbox.scope import Scope
from sereno.mailbox.stop_orders import Engage, StopAnswer


class StopRequest(BaseModel):
    """What to stop: at most one of the four last; with nothing named all that the token reaches."""

    model_config = ConfigDict(extra="forbid")

    agent: Stored | None = None
    subscription: Stored | None = None
    connector: Stored | None = None
    family: Stored | None = None
    reason: Annotated[Stored, Field(min_length=1, max_length=1000)]


def router(pool: AnyPool, authenticate: Callable[..., Any], intent: Intent) -> APIRouter:
    """The routes over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises.

    `intent` records who stops what, before it stands.
    """
    routes = APIRouter(prefix="/v1", tags=["stop"])
    Caller = Annotated[Principal, Depends(authenticate)]  # noqa: N806 - a type

    @routes.get("/stops", summary="What stands still")
    async def standing(caller: Caller) -> StopAnswer:
        found = await states(pool)
        return StopAnswer(stops=tuple(one for one in found if _sees(caller, Scope.parse(one.scope))))

    @routes.post("/stops", summary="Stop at once, without the control plane")
    async def stop(
        body: StopRequest,
        caller: Caller,
        tenant: Annotated[str | None, Query(description="only this tenant")] = None,
    ) -> StopAnswer:
        scope = _meant(body, caller, tenant)
        about = {"reason": body.reason}
        await intent(scope.tenant or caller.home, caller.name, "stop.engaged", f"stop/{scope}", about)
        order = Engage(scope=str(scope), id=uuid4(), reason=body.reason, principal=caller.name)
        return await engage(pool, order)

    return routes


def _meant(body: StopRequest, caller: Principal, tenant: str | None) -> Scope:
    if not body.reason.strip():
        raise Problem(422, "bad_input", "reason: expected why")
    named = body.model_dump(exclude={"reason"})
    try:
        scope = Scope.chosen(reach=caller.tenant, home=caller.home, tenant=tenant, **named)
    except ValueError as fault:
        raise Problem(422, "bad_input", str(fault)) from fault
    if caller.agents is not None or caller.tenant not in {"*", scope.tenant}:
        raise Problem(403, "forbidden", f"{caller.name} may not stop {scope}")
    return scope


def _sees(caller: Principal, scope: Scope) -> bool:
    return caller.tenant == "*" or scope.tenant in {None, caller.tenant}
