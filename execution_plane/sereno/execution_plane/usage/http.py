"""`GET /v1/usage`: sums of the usage log by tenant, agent, subscription or model."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import groupby
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.deliveries.http import reach
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal

By = Literal["tenant", "agent", "subscription", "model"]
_SQL = queries.load("sereno.execution_plane.usage", "usage.sql")


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Cost(_Shape):
    """Money in one currency: what workers reported, what was reserved, and what counts on the budgets."""

    currency: str
    reported: Decimal
    reserved: Decimal
    counted: Decimal = Field(description="what was reported, else the reserve; nothing for a dead message")


class UsageOf(_Shape):
    """What one of them used; `name` is null where no model was reported."""

    tenant: str
    name: str | None
    wakes: int = Field(description="messages that ended, acknowledged or dead")
    dead: int
    evaluations: int
    tests: int
    costs: list[Cost]


class Usage(_Shape):
    """By tenant, then by name."""

    by: By
    items: list[UsageOf]


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The route over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes = APIRouter(prefix="/v1", tags=["usage"])

    @routes.get("/usage", summary="What wake-ups, evaluations and tests used")
    async def usage(
        caller: Annotated[Principal, Depends(authenticate)],
        by: Annotated[By, Query(description="whose sums")] = "subscription",
        first: Annotated[AwareDatetime | None, Query(alias="from", description="ended then or later")] = None,
        last: Annotated[AwareDatetime | None, Query(alias="to", description="ended before then")] = None,
        tenant: Annotated[str | None, Query(description="only this tenant's")] = None,
    ) -> Usage:
        if first is not None and last is not None and last <= first:
            raise Problem(422, "bad_input", "to: expected an instant later than from")
        rows = await pool.fetch(_SQL["sums"], reach(caller.reader(), catalog, tenant), by, first, last)
        return Usage(by=by, items=list(_items(rows)))

    return routes


def _items(rows: Iterable[Any]) -> Iterable[UsageOf]:
    for (tenant, name), group in groupby(rows, key=lambda row: (row["tenant_id"], row["name"])):
        listed = list(group)
        counts = {kind: listed[0][kind] for kind in ("wakes", "dead", "evaluations", "tests")}
        costs = [_cost(row) for row in listed if row["currency"] is not None]
        yield UsageOf(tenant=tenant, name=name, costs=costs, **counts)


def _cost(row: Any) -> Cost:
    amounts = {name: row[name] or Decimal() for name in ("reported", "reserved", "counted")}
    return Cost(currency=row["currency"], **amounts)
