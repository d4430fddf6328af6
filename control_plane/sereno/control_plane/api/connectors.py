"""Routes that show connectors, and let one rest."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from sereno.control_plane.api import models
from sereno.control_plane.api.authorising import Access, needs
from sereno.control_plane.api.changing import Entered, move
from sereno.control_plane.api.reading import LARGEST_PAGE, page
from sereno.control_plane.api.refusing import unknown
from sereno.control_plane.api.rendering import Renderer
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.store import projection

router = APIRouter(prefix="/v1", tags=["connectors"])
Reader = Annotated[Access, Depends(needs("read"))]


@router.get("/connectors", summary="The declared connectors")
async def list_connectors(
    request: Request,
    access: Reader,
    after: Annotated[str | None, Query(description="The last name of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="How many at most.")] = 1000,
) -> models.Listing[models.CatalogEntry]:
    """By name; credentials are references, and what is behind them is not known here."""
    return await page(request, access.tenant, "Connector", after, limit)


@router.get("/connectors/{name}", summary="One connector")
async def show_connector(name: str, request: Request, access: Reader) -> models.CatalogEntry:
    """Also when it was deleted."""
    address = Address(access.tenant, "Connector", name)
    async with request.app.state.engine.connect() as connection:
        item = await projection.one(connection, address)
    if item is None:
        raise unknown(address)
    renderer: Renderer = request.app.state.renderer
    return renderer.entry(item)


@router.post("/connectors/{name}/pause", summary="Let a connector rest")
async def pause(name: str, body: models.MoveRequest, request: Request, access: Entered) -> models.MoveAnswer:
    """Nothing is asked of its server until it is resumed; how far its sources were read is kept."""
    return await move(request, access, "Connector", name, verb="pause", reason=body.reason)


@router.post("/connectors/{name}/resume", summary="Let a paused connector go on")
async def resume(name: str, body: models.MoveRequest, request: Request, access: Entered) -> models.MoveAnswer:
    """Its sources are read on from where they were."""
    return await move(request, access, "Connector", name, verb="resume", reason=body.reason)
