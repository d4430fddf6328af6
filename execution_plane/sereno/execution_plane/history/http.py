"""`GET /v1/history`: received events in the order of receipt, page by page."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict

from sereno.envelope.encode import rfc3339
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.deliveries.http import reach
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal

LARGEST_PAGE = 5_000
_SQL = queries.load("sereno.execution_plane.history", "history.sql")


class Past(BaseModel):
    """One received event as flat CloudEvents JSON, and the database's clock when it was decided."""

    model_config = ConfigDict(extra="forbid")

    decided: datetime
    envelope: dict[str, Any]


class History(BaseModel):
    """Oldest first; `next` is the `after` of the following page, if there is one."""

    model_config = ConfigDict(extra="forbid")

    items: list[Past]
    next: str | None


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The route over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes = APIRouter(prefix="/v1", tags=["history"])

    @routes.get("/history", summary="The events that were received, with the clock by which each was decided")
    async def history(  # noqa: PLR0917 - query parameters, which FastAPI passes by name
        caller: Annotated[Principal, Depends(authenticate)],
        tenant: Annotated[str | None, Query(description="only this tenant's")] = None,
        first: Annotated[
            AwareDatetime | None, Query(alias="from", description="received then or later")
        ] = None,
        last: Annotated[
            AwareDatetime | None, Query(alias="to", description="received then or earlier")
        ] = None,
        after: Annotated[str | None, Query(description="later than the page with this `next`")] = None,
        limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="how many at most")] = 1_000,
    ) -> History:
        tenants = reach(caller, catalog, tenant)
        moment, receipt = _place(after)
        rows = await pool.fetch(_SQL["page"], tenants, first, last, moment, receipt, limit + 1)
        items = [Past(decided=row["decided_at"], envelope=_envelope(row)) for row in rows[:limit]]
        more = len(rows) > limit
        return History(items=items, next=_next(rows[limit - 1]) if more else None)

    return routes


def _envelope(row: Any) -> dict[str, Any]:
    envelope: dict[str, Any] = row["envelope"]
    if row["outside"]:
        envelope = {**envelope, "outside": orjson.dumps(row["outside"]).decode()}
    return envelope


def _next(row: Any) -> str:
    return f"{rfc3339(row['recordedtime'])}_{row['receiptid']}"


def _place(after: str | None) -> tuple[datetime | None, UUID | None]:
    if after is None:
        return None, None
    moment, _, receipt = after.partition("_")
    try:
        return datetime.fromisoformat(moment), UUID(receipt)
    except ValueError:
        raise Problem(422, "bad_input", "after: expected the `next` of a page") from None
