"""The inbox: what people should know, answer, or decide about, from both planes."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from sereno.control_plane.api.reading import Reader
from sereno.control_plane.store import notices

router = APIRouter(prefix="/v1", tags=["inbox"])


class NoticeEntry(BaseModel):
    """One notice: `inbox` says what a person does with it; `done_at` when nobody need do it any more."""

    model_config = ConfigDict(extra="ignore")

    tenant: str
    cause: str
    kind: str
    inbox: Literal["notify", "question", "review"]
    text: str
    data: dict[str, Any]
    count: int
    first_at: datetime
    last_at: datetime
    done_at: datetime | None = Field(description="null: open")


class Notices(BaseModel):
    """Latest first."""

    notices: list[NoticeEntry]


@router.get("/notices", summary="The inbox: what a person should know, answer, or decide about")
async def list_notices(
    request: Request,
    access: Reader,
    inbox: Annotated[Literal["notify", "question", "review"] | None, Query(description="Only these.")] = None,
    only_open: Annotated[bool, Query(alias="open", description="Only what is not done.")] = False,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
) -> Notices:
    """Those of the tenant, and those that concern every tenant."""
    async with request.app.state.engine.connect() as connection:
        found = await notices.listed(connection, access.tenant, inbox=inbox, only_open=only_open, limit=limit)
    return Notices(notices=[NoticeEntry(tenant=row["tenant_id"], **row) for row in found])
