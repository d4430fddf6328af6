"""Routes of this plane's audit chain, the same as those of the control plane."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from sereno.execution_plane.audit import PLANE
from sereno.mailbox.audit import checkpointing
from sereno.mailbox.audit.keys import Trusted
from sereno.mailbox.audit.standing import AuditStanding
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.http import audit
from sereno.mailbox.principal import Principal


@dataclass(frozen=True, slots=True)
class Signed:
    """The file of this plane's checkpoints, the keys by which they count, and who is told what was found."""

    file: Path | None = None
    keys: Trusted = field(default_factory=dict)
    standing: AuditStanding = field(default_factory=lambda: AuditStanding(PLANE, signs=False))


def router(pool: AnyPool, signed: Signed, authenticate: Callable[..., Any]) -> APIRouter:
    """The routes over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes = APIRouter(prefix="/v1/audit", tags=["audit"])
    Caller = Annotated[Principal, Depends(authenticate)]  # noqa: N806 - a type

    @routes.get("/verify", summary="Walk this plane's audit chain of the tenant")
    async def verify(
        caller: Caller,
        tenant: str | None = None,
        held: audit.Held = [],  # noqa: B006 - FastAPI's way
    ) -> audit.AuditReport:
        home = _audited(caller, tenant)
        kept = await asyncio.to_thread(checkpointing.read_file, signed.file, signed.keys, PLANE, home)
        async with pool.acquire() as conn:
            found = await audit.report(conn, PLANE, home, kept, held)
        signed.standing.verified(home, len(found.faults))
        return found

    @routes.get("/records", summary="Records of this plane's audit chain, in order")
    async def records(
        caller: Caller, tenant: str | None = None, after: audit.After = 0, limit: audit.Limit = 1000
    ) -> audit.AuditPage:
        home = _audited(caller, tenant)
        async with pool.acquire() as conn:
            return await audit.page(conn, PLANE, home, after, limit)

    @routes.get("/anchors", summary="Ends of the control plane's chain that stand in this one")
    async def anchors(
        caller: Caller, tenant: str | None = None, limit: Annotated[int, Query(ge=1, le=100)] = 20
    ) -> audit.AuditAnchors:
        home = _audited(caller, tenant)
        async with pool.acquire() as conn:
            return await audit.anchors(conn, PLANE, home, limit)

    return routes


def _audited(caller: Principal, tenant: str | None) -> str:
    """The tenant whose chain the caller may read."""
    home = tenant or caller.home
    if not caller.audits or caller.tenant not in {"*", home}:
        raise Problem(403, "forbidden", f"{caller.name} may not audit tenant {home}")
    return home
