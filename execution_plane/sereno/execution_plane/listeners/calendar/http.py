"""The HTTP form of followed calendars: `GET /v1/calendars/{subscription}`."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.listeners.calendar.calendars import SQL
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal

LARGEST_PAGE = 1_000
_PAST = timedelta(days=2)


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CalendarInstant(_Shape):
    """One wake-up that was or is to come; what the entry is called was written by whoever may write to the calendar."""

    uid: str
    recurrence_id: datetime | None
    start: datetime
    fire: datetime
    previous_start: datetime | None = Field(description="where it was before it was moved")
    summary: str | None = Field(description="not trusted")
    state: Literal["pending", "emitted", "skipped", "removed"]
    outcome: str | None
    reason: str | None
    receipt: str | None


class FollowedCalendar(_Shape):
    """What a subscription knows of its calendar; `fault` says why the last look failed."""

    tenant: str
    subscription: str
    looked_at: datetime | None
    next_look: datetime | None
    known_until: datetime | None
    failures: int
    fault: str | None
    instants: list[CalendarInstant]


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The route over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes = APIRouter(prefix="/v1", tags=["previews"])
    Caller = Annotated[Principal, Depends(authenticate)]  # noqa: N806 - a type

    @routes.get(
        "/calendars/{subscription}", summary="What is to come of a calendar, and what became of the rest"
    )
    async def calendar(
        subscription: str,
        caller: Caller,
        tenant: Annotated[str | None, Query(description="of this tenant")] = None,
        after: Annotated[
            datetime | None, Query(description="from when on; two days ago, if not given")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="how many at most")] = 100,
    ) -> FollowedCalendar:
        owner = _tenant(caller, catalog, tenant, subscription)
        standing = await pool.fetchrow(SQL["standing"], owner, subscription)
        if standing is None:
            raise Problem(404, "not_found", f"{subscription} follows no calendar")
        since = after or await pool.fetchval(SQL["clock"]) - _PAST
        rows = await pool.fetch(SQL["followed"], owner, subscription, since, limit)
        return FollowedCalendar(
            tenant=owner,
            subscription=subscription,
            **dict(standing),
            instants=[_instant(row) for row in rows],
        )

    return routes


def _tenant(caller: Principal, catalog: Catalog, tenant: str | None, subscription: str) -> str:
    if caller.token is not None or caller.agents is not None:
        raise Problem(403, "forbidden", "a worker's token does not show calendars")
    reached = [one.tenant for one in catalog.tenants if caller.tenant in ("*", one.tenant)]
    found = [
        name
        for name in reached
        if tenant in (None, name) and any(one.name == subscription for one in catalog.subscriptions(name))
    ]
    if len(found) > 1:
        raise Problem(422, "ambiguous", f"{subscription} is one of several tenants: {', '.join(found)}")
    if not found:
        raise Problem(404, "not_found", f"there is no subscription {subscription}")
    return found[0]


def _instant(row: Any) -> CalendarInstant:
    return CalendarInstant(
        uid=row["uid"],
        recurrence_id=row["recurrence"],
        start=row["start"],
        fire=row["fire"],
        previous_start=row["previous_start"],
        summary=row["facts"].get("summary"),
        state=row["state"],
        outcome=row["outcome"],
        reason=row["reason"],
        receipt=None if row["receiptid"] is None else to_people("rcp", str(row["receiptid"])),
    )
