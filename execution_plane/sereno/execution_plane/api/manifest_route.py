"""Which manifest of each tenant is in force here."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from sereno.execution_plane.catalog.catalog import Catalog
from sereno.mailbox.principal import Principal


class ManifestInForce(BaseModel):
    """The version of a tenant's definitions from which this plane works, and until when it may."""

    epoch: int
    version: int
    valid_until: datetime


def router(catalog: Catalog, authenticate: Callable[..., Awaitable[Principal]]) -> APIRouter:
    """`GET /v1/manifest`, for the tenants that the caller reaches."""
    routes = APIRouter(prefix="/v1", tags=["manifest"])

    @routes.get("/manifest", summary="The manifests in force, by tenant")
    async def manifest(caller: Annotated[Principal, Depends(authenticate)]) -> dict[str, ManifestInForce]:
        return {
            known.tenant: ManifestInForce(
                epoch=known.epoch, version=known.version, valid_until=known.valid_until
            )
            for known in catalog.tenants
            if caller.tenant in {"*", known.tenant}
        }

    return routes
