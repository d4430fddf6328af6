"""The HTTP form of deliveries: `GET /v1/deliveries` and `POST /v1/deliveries/{id}/redeliver`."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from sereno.envelope.identifiers import from_people, to_people
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.deliveries.delivery import Verdict
from sereno.execution_plane.deliveries.log import SQL
from sereno.execution_plane.deliveries.redelivery import Redelivery
from sereno.execution_plane.gateway.group_commit import NotStoredError
from sereno.mailbox.audit.intents import Intent
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal

PREFIXES = ("", "dlv", "rcp")
LARGEST_PAGE = 1_000


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DeliveryEntry(_Shape):
    """One request at an endpoint and what was answered; `latency_ms` is how long that took here."""

    id: str
    tenant: str
    endpoint: str
    received: datetime
    verdict: Verdict
    status: int
    reason: str | None = Field(description="more than the sender was told")
    latency_ms: float
    size: int = Field(description="bytes of the body")
    receipts: list[str]
    redelivery_of: str | None
    by: str | None


class Deliveries(_Shape):
    """Newest first; `next` is the `before` of the following page, if there is one."""

    items: list[DeliveryEntry]
    next: str | None


class RedeliverRequest(_Shape):
    """`force` delivers also what is a duplicate."""

    force: bool = False


class Repetition(_Shape):
    """A new receipt, and the one that it repeats."""

    id: str
    of: str


class RedeliverAnswer(_Shape):
    """The new receipts: they are on disk."""

    tenant: str
    forced: bool
    receipts: list[Repetition]


def router(
    pool: AnyPool, catalog: Catalog, redelivery: Redelivery, authenticate: Callable[..., Any], intent: Intent
) -> APIRouter:
    """The routes over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises.

    `intent` records who has an event delivered again, before it is.
    """
    routes = APIRouter(prefix="/v1", tags=["webhooks"])
    Caller = Annotated[Principal, Depends(authenticate)]  # noqa: N806 - a type

    @routes.get("/deliveries", summary="What came to the endpoints, and what was answered")
    async def deliveries(  # noqa: PLR0917 - query parameters, which FastAPI passes by name
        caller: Caller,
        tenant: Annotated[str | None, Query(description="only this tenant's")] = None,
        endpoint: Annotated[str | None, Query(description="only this endpoint's")] = None,
        verdict: Annotated[Verdict | None, Query(description="only with this verdict")] = None,
        before: Annotated[str | None, Query(description="older than this delivery")] = None,
        limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="how many at most")] = 50,
    ) -> Deliveries:
        tenants = reach(caller.reader(), catalog, tenant)
        last = None if before is None else _number(before)
        rows = await pool.fetch(SQL["list"], tenants, endpoint, verdict, last, limit + 1)
        items = [_entry(row) for row in rows[:limit]]
        return Deliveries(items=items, next=items[-1].id if len(rows) > limit else None)

    @routes.post("/deliveries/{identifier}/redeliver", status_code=202, summary="Deliver an event again")
    async def redeliver(identifier: str, body: RedeliverRequest, caller: Caller) -> RedeliverAnswer:
        tenants = reach(caller, catalog, None)
        number = _number(identifier)
        tenant = await redelivery.tenant_of(tenants, number)
        if tenant is not None:
            await intent(tenant, caller.name, "event.redelivered", identifier, {"force": body.force})
        try:
            done = await redelivery.of(tenants, number, forced=body.force, by=caller.name)
        except NotStoredError as fault:
            raise Problem(503, "not_stored", "the event could not be stored; try again") from fault
        if done is None:
            raise Problem(404, "not_found", f"no decided event is known of {identifier}")
        pairs = [Repetition(id=to_people("rcp", new), of=to_people("rcp", old)) for new, old in done.receipts]
        return RedeliverAnswer(tenant=done.tenant, forced=body.force, receipts=pairs)

    return routes


def reach(caller: Principal, catalog: Catalog, tenant: str | None) -> list[str]:
    """The tenants whose deliveries the caller may see; one bound to agents sees none."""
    if caller.token is not None or caller.agents is not None:
        raise Problem(403, "forbidden", "a worker's token does not show deliveries")
    known = [one.tenant for one in catalog.tenants if caller.tenant in ("*", one.tenant)]
    return [one for one in known if tenant in (None, one)]


def _number(text: str) -> UUID:
    try:
        prefix, number = from_people(text)
    except ValueError as fault:
        raise Problem(422, "bad_input", str(fault)) from fault
    if prefix not in PREFIXES:
        raise Problem(422, "bad_input", f"expected dlv_… or rcp_…, not {prefix}_…")
    return number


def _entry(row: Any) -> DeliveryEntry:
    return DeliveryEntry(
        id=to_people("dlv", str(row["id"])),
        tenant=row["tenant_id"],
        endpoint=row["endpoint"],
        received=row["received_at"],
        verdict=row["verdict"],
        status=row["status"],
        reason=row["reason"],
        latency_ms=row["latency_ms"],
        size=row["size"],
        receipts=[to_people("rcp", str(one)) for one in row["receipts"]],
        redelivery_of=None if row["redelivery_of"] is None else to_people("rcp", str(row["redelivery_of"])),
        by=row["by_principal"],
    )
