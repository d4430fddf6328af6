"""Routes of the emergency stop."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from sereno.control_plane import stopping
from sereno.control_plane.api.authentication import Authenticated, tenant_of
from sereno.control_plane.api.authorising import Access
from sereno.control_plane.api.models import Reason
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.minting import utc_now
from sereno.control_plane.stopping import StopConflictError
from sereno.control_plane.store import rights
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.http.shapes import Stored
from sereno.mailbox.scope import EVERYTHING, Scope
from sereno.mailbox.stop import Choice
from sereno.mailbox.stop_orders import Backlog, StopState
from sereno.subscriptions.policy.decision import Action

router = APIRouter(prefix="/v1/stops", tags=["stop"])


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ScopeRequest(_Shape):
    """What is meant: at most one of the four last; with nothing named all that the token reaches."""

    agent: Stored | None = None
    subscription: Stored | None = None
    connector: Stored | None = None
    family: Stored | None = None

    def scope(self, caller: Caller, tenant: str | None) -> Scope:
        """What that is for this caller. Raises `Problem`."""
        named = {name: getattr(self, name) for name in ScopeRequest.model_fields}
        try:
            return Scope.chosen(reach=caller.tenant, home=caller.home, tenant=tenant, **named)
        except ValueError as fault:
            raise Problem(422, "bad_input", str(fault)) from fault


class StopRequest(ScopeRequest):
    """What to stop, and why."""

    reason: Reason


class ReleaseRequest(ScopeRequest):
    """What to let go on, why, and what becomes of what waited; with `preview` nothing is done."""

    reason: Reason
    held: Choice = "deliver"
    preview: bool = False


class StopEntry(_Shape):
    """A stop: `confirmed` when the data path says that it stands, else it is recorded and nothing more."""

    scope: str
    id: UUID
    state: Literal["engaged", "review"]
    confirmed: bool
    reason: str
    by: str
    since: AwareDatetime
    backlog: Backlog | None = None


class Stops(_Shape):
    """What stands still; not `confirmed` when the data path did not answer."""

    confirmed: bool
    items: list[StopEntry]
    in_flight: list[str] = Field(
        default=[], description="transactions whose end the stop did not see: usually none"
    )


async def named_tenant(
    caller: Authenticated,
    tenant: Annotated[str | None, Query(description="Only this tenant.")] = None,
) -> str | None:
    """The tenant that is named, if any; a problem 403 when it is not the caller's."""
    return None if tenant is None else await tenant_of(caller, tenant)


Named = Annotated[str | None, Depends(named_tenant)]


@router.get("", summary="What stands still, and what waits for its end")
async def list_stops(request: Request, caller: Authenticated, tenant: Named = None) -> Stops:
    """As the data path says; when it does not answer, as it was recorded."""
    await _require(request, caller, tenant or caller.home, "read")
    answer = await stopping.status(request.app.state.orders)
    async with request.app.state.engine.connect() as connection:
        recorded = await stopping.standing(connection)
    shown = [_confirmed(one) for one in answer.stops] if answer else []
    engaged = {one.scope for one in shown if one.state == "engaged"}
    shown += [_recorded(one) for one in recorded if one.scope not in engaged]
    seen = [one for one in shown if _sees(caller, tenant, Scope.parse(one.scope))]
    return Stops(confirmed=answer is not None and all(one.confirmed for one in seen), items=seen)


@router.post("", summary="Stop at once")
async def stop(body: StopRequest, request: Request, caller: Authenticated, tenant: Named = None) -> Stops:
    """It is recorded, then carried out; `confirmed` says whether the data path answered."""
    scope = await _meant(request, body, caller, tenant, "stop")
    async with request.app.state.engine.connect() as connection:
        slip = await stopping.undeclared(connection, scope)
    if slip is not None:
        raise Problem(404, "not_found", slip)
    try:
        known, answer = await stopping.engage(
            request.app.state.engine,
            request.app.state.orders,
            scope,
            by=caller.name,
            reason=body.reason,
            at=utc_now(),
        )
    except StopConflictError as fault:
        raise Problem(409, "version_conflict", str(fault)) from fault
    if answer is None:
        return Stops(confirmed=False, items=[_recorded(known)])
    return Stops(
        confirmed=not answer.in_flight,
        items=[_confirmed(one) for one in answer.stops],
        in_flight=list(answer.in_flight),
    )


@router.post("/release", summary="Let what was stopped go on")
async def release(
    body: ReleaseRequest, request: Request, caller: Authenticated, tenant: Named = None
) -> Stops:
    """The answer shows what waited; it takes another right than stopping, and a person."""
    scope = await _meant(request, body, caller, tenant, "restart")
    answer = await stopping.release(
        request.app.state.engine,
        request.app.state.orders,
        scope,
        by=caller.name,
        reason=body.reason,
        held=body.held,
        preview=body.preview,
        at=utc_now(),
    )
    if answer is None:
        raise Problem(503, "unavailable", "the data path does not answer, so the stop stands; try again")
    if answer.refusal is not None:
        others = await stopping.status(request.app.state.orders)
        standing = ", ".join(one.scope for one in others.stops) if others else ""
        hint = f"; what stands: {standing}" if standing and caller.tenant == EVERYTHING else ""
        raise Problem(409, "not_stopped", answer.refusal + hint)
    return Stops(confirmed=True, items=[_confirmed(one) for one in answer.stops])


async def _meant(
    request: Request,
    body: StopRequest | ReleaseRequest,
    caller: Caller,
    tenant: str | None,
    action: Action,
) -> Scope:
    scope = body.scope(caller, tenant)
    if not body.reason.strip():
        raise Problem(422, "bad_input", "reason: expected why")
    await _require(request, caller, stopping.tenant_of(scope), action)
    return scope


async def _require(request: Request, caller: Caller, tenant: str, action: Action) -> None:
    # Read anew: what concerns every tenant has no version by which a memory would know that it is outdated.
    async with request.app.state.engine.connect() as connection:
        facts = await rights.facts(connection, tenant)
    Access(caller, tenant, facts, utc_now()).require(action)


def _sees(caller: Caller, tenant: str | None, scope: Scope) -> bool:
    return scope.tenant is None or (caller.reaches(scope.tenant) and tenant in {None, scope.tenant})


def _confirmed(one: StopState) -> StopEntry:
    return StopEntry(confirmed=True, **one.model_dump())


def _recorded(one: stopping.Stop) -> StopEntry:
    return StopEntry(
        scope=one.scope,
        id=one.id,
        state="engaged",
        confirmed=False,
        reason=one.reason,
        by=one.by,
        since=one.at,
    )
