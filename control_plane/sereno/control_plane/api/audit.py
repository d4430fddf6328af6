"""Routes of the audit chain: walked here, or handed out to be walked elsewhere."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from sereno.control_plane.api.authorising import Access, needs
from sereno.control_plane.recording import PLANE
from sereno.control_plane.store.engine import driver
from sereno.mailbox.audit import checkpointing
from sereno.mailbox.http import audit

router = APIRouter(prefix="/v1", tags=["audit"])
Auditor = Annotated[Access, Depends(needs("audit"))]


@router.get("/audit/verify", summary="Walk the audit chain of the tenant")
async def verify(request: Request, access: Auditor, held: audit.Held = []) -> audit.AuditReport:  # noqa: B006 - FastAPI's way
    """Every record against its hash and the one before it, the end against its head and the signed checkpoints."""
    state = request.app.state
    signed = await asyncio.to_thread(
        checkpointing.read_file, state.checkpoints, state.audit_keys, PLANE, access.tenant
    )
    async with state.engine.connect() as connection:
        found = await audit.report(await driver(connection), PLANE, access.tenant, signed, held)
    state.audit_standing.verified(access.tenant, len(found.faults))
    return found


@router.get("/audit/records", summary="Records of the audit chain, in order")
async def records(
    request: Request, access: Auditor, after: audit.After = 0, limit: audit.Limit = 1000
) -> audit.AuditPage:
    """As they were hashed: `canonical` are the very bytes; who did what and when stands beside them."""
    async with request.app.state.engine.connect() as connection:
        return await audit.page(await driver(connection), PLANE, access.tenant, after, limit)


@router.get("/audit/anchors", summary="Ends of the execution plane's chain that stand in this one")
async def anchors(
    request: Request, access: Auditor, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> audit.AuditAnchors:
    """Each was true when it was recorded: the other chain must still have that record at that place."""
    async with request.app.state.engine.connect() as connection:
        return await audit.anchors(await driver(connection), PLANE, access.tenant, limit)
