"""The catalog as the documents that would make it: what an export writes and an apply takes."""

from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from sereno.control_plane.api.reading import Reader
from sereno.control_plane.catalog.item import Item
from sereno.control_plane.store import projection
from sereno.subscriptions.lifecycle import State

router = APIRouter(prefix="/v1")
_KINDS: Final = ("Tenant", "Agent", "Endpoint", "Grant", "Policy", "Subscription")


class DeclaredDocument(BaseModel):
    """One object as it would be declared, and the state in which it is."""

    model_config = ConfigDict(extra="forbid")

    state: State
    document: dict[str, Any]


class Documents(BaseModel):
    """Everything that is declared in one tenant, by kind and name."""

    model_config = ConfigDict(extra="forbid")

    tenant: str
    items: list[DeclaredDocument]


@router.get("/documents", tags=["catalog"], summary="The catalog as documents that make it")
async def documents(request: Request, access: Reader) -> Documents:
    """What was deleted is not among them, nor are principals and tokens, which are not declared."""
    async with request.app.state.engine.connect() as connection:
        items = await projection.live(connection, access.tenant, *_KINDS)
    # In an order in which each stands on what comes before.
    ordered = sorted(items, key=lambda item: (_KINDS.index(item.address.kind), item.name))
    return Documents(
        tenant=access.tenant,
        items=[DeclaredDocument(state=item.state, document=_document(item)) for item in ordered],
    )


def _document(item: Item) -> dict[str, Any]:
    labels = {"labels": dict(item.labels)} if item.labels else {}
    return {
        "apiVersion": "sereno/v1",
        "kind": item.kind,
        "metadata": {"name": item.name, "tenant": item.address.tenant, **labels},
        "spec": dict(item.spec),
    }
