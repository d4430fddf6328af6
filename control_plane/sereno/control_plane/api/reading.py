"""Routes that read the catalog."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AwareDatetime
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.api import models
from sereno.control_plane.api.authorising import Access, needs
from sereno.control_plane.api.refusing import unknown
from sereno.control_plane.api.rendering import Renderer, history, preview
from sereno.control_plane.catalog.item import Address, Item, Kind
from sereno.control_plane.reports.inbox import activities
from sereno.control_plane.store import endpoint_tokens, projection, suspensions
from sereno.control_plane.store.event_store import StreamId, read_streams
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.upcoming import upcoming

LARGEST_PAGE = 10_000
LARGEST_PREVIEW = 1_000
router = APIRouter(prefix="/v1")
Reader = Annotated[Access, Depends(needs("read"))]
After = Annotated[str | None, Query(description="The last name of the page before.")]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="How many at most.")]


async def _page(
    connection: AsyncConnection, tenant: str, kind: Kind, after: str | None, limit: int
) -> tuple[list[Item], str | None]:
    found = await projection.page(connection, tenant, kind, after=after or "", limit=limit + 1)
    shown = found[:limit]
    return shown, shown[-1].address.name if len(found) > limit else None


async def page(
    request: Request, tenant: str, kind: Kind, after: str | None, limit: int
) -> models.Listing[models.CatalogEntry]:
    """A page of the objects of a kind."""
    async with request.app.state.engine.connect() as connection:
        items, following = await _page(connection, tenant, kind, after, limit)
    return models.Listing(items=[request.app.state.renderer.entry(item) for item in items], next=following)


async def _one(connection: AsyncConnection, address: Address) -> Item:
    item = await projection.one(connection, address)
    if item is None:
        raise unknown(address)
    return item


@router.get("/agents", tags=["agents"], summary="The declared agents")
async def list_agents(
    request: Request,
    access: Reader,
    after: After = None,
    limit: Limit = 1000,
) -> models.Listing[models.CatalogEntry]:
    """By name."""
    async with request.app.state.engine.connect() as connection:
        items, following = await _page(connection, access.tenant, "Agent", after, limit)
    return models.Listing(items=[request.app.state.renderer.entry(item) for item in items], next=following)


@router.get("/agents/{name}", tags=["agents"], summary="One agent")
async def show_agent(name: str, request: Request, access: Reader) -> models.CatalogEntry:
    """Also when it was deleted."""
    async with request.app.state.engine.connect() as connection:
        item = await _one(connection, Address(access.tenant, "Agent", name))
    renderer: Renderer = request.app.state.renderer
    return renderer.entry(item)


@router.get("/endpoints", tags=["endpoints"], summary="The declared endpoints")
async def list_endpoints(
    request: Request,
    access: Reader,
    after: After = None,
    limit: Limit = 1000,
) -> models.Listing[models.EndpointEntry]:
    """By name, each with its URL."""
    async with request.app.state.engine.connect() as connection:
        items, following = await _page(connection, access.tenant, "Endpoint", after, limit)
        entries = await _endpoints(connection, request.app.state.renderer, items)
    return models.Listing(items=entries, next=following)


@router.get("/endpoints/{name}", tags=["endpoints"], summary="One endpoint")
async def show_endpoint(name: str, request: Request, access: Reader) -> models.EndpointEntry:
    """Also when it was deleted, then without a URL."""
    async with request.app.state.engine.connect() as connection:
        item = await _one(connection, Address(access.tenant, "Endpoint", name))
        return (await _endpoints(connection, request.app.state.renderer, [item]))[0]


async def _endpoints(
    connection: AsyncConnection, renderer: Renderer, items: Sequence[Item]
) -> list[models.EndpointEntry]:
    tokens = await endpoint_tokens.of(connection, [item.address for item in items])
    return [renderer.endpoint(item, tokens) for item in items]


@router.get("/subscriptions", tags=["subscriptions"], summary="The declared subscriptions")
async def list_subscriptions(
    request: Request,
    access: Reader,
    after: After = None,
    limit: Limit = 1000,
) -> models.Listing[models.SubscriptionEntry]:
    """By name, each with what became of its events."""
    async with request.app.state.engine.connect() as connection:
        items, following = await _page(connection, access.tenant, "Subscription", after, limit)
        entries = await _subscriptions(connection, request.app.state.renderer, access.tenant, items)
    return models.Listing(items=entries, next=following)


@router.get("/subscriptions/{name}", tags=["subscriptions"], summary="One subscription")
async def show_subscription(name: str, request: Request, access: Reader) -> models.SubscriptionEntry:
    """Also when it was deleted."""
    async with request.app.state.engine.connect() as connection:
        item = await _one(connection, Address(access.tenant, "Subscription", name))
        return (await _subscriptions(connection, request.app.state.renderer, access.tenant, [item]))[0]


async def _subscriptions(
    connection: AsyncConnection, renderer: Renderer, tenant: str, items: Sequence[Item]
) -> list[models.SubscriptionEntry]:
    names = [item.address.name for item in items]
    known = await activities(connection, tenant, names)
    standing = await suspensions.standing(connection, tenant, names)
    return [renderer.subscription(item, known, standing.get(item.address.name, ())) for item in items]


@router.get("/subscriptions/{name}/preview", tags=["subscriptions"], summary="When a subscription fires next")
async def preview_subscription(
    name: str,
    request: Request,
    access: Reader,
    count: Annotated[int, Query(ge=1, le=LARGEST_PREVIEW, description="How many times.")] = 10,
    after: Annotated[AwareDatetime | None, Query(description="From when on; now, if not given.")] = None,
) -> models.SubscriptionPreview:
    """As it stands, with the clock of its zone and the policy that shaped each time; nothing is advanced."""
    async with request.app.state.engine.connect() as connection:
        item = await _one(connection, Address(access.tenant, "Subscription", name))
    spec = SubscriptionSpec.model_validate(item.spec)
    found = await asyncio.to_thread(upcoming, spec, item.state, after or datetime.now(UTC), count)
    return preview(item, found)


@router.get(
    "/subscriptions/{name}/history", tags=["subscriptions"], summary="Each step of a subscription's life"
)
async def show_history(name: str, request: Request, access: Reader) -> models.History:
    """By whom, when, why and with which text, oldest first."""
    address = Address(access.tenant, "Subscription", name)
    stream = StreamId(access.tenant, address.stream)
    async with request.app.state.engine.connect() as connection:
        events = (await read_streams(connection, [stream]))[stream]
    if not events:
        raise unknown(address)
    return history(events)
