"""Routes of the audit chain: walked here, or handed out to be walked elsewhere."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request

from sereno.control_plane import checkpointing
from sereno.control_plane.api import models
from sereno.control_plane.api.authorising import Access, needs
from sereno.control_plane.recording import PLANE
from sereno.control_plane.store.engine import driver
from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.chain import Head, Record

router = APIRouter(prefix="/v1", tags=["audit"])
Auditor = Annotated[Access, Depends(needs("audit"))]


@router.get("/audit/verify", summary="Walk the audit chain of the tenant")
async def verify(request: Request, access: Auditor) -> models.AuditReport:
    """Every record against its hash and the one before it, the end against its head and the signed checkpoints."""
    known = await _anchors(request, access.tenant)
    async with request.app.state.engine.connect() as connection:
        report = await ledger.check(await driver(connection), PLANE, access.tenant, known.heads)
    faults = [models.AuditFault(kind=f.kind, seq=f.seq, message=f.message) for f in report.faults]
    faults += [models.AuditFault(kind="unsigned", seq=0, message=message) for message in known.faults]
    request.app.state.audit_standing.verified(access.tenant, len(faults))
    return models.AuditReport(
        plane=PLANE,
        tenant=access.tenant,
        whole=not faults,
        records=report.records,
        seq=report.head.seq,
        hash=report.head.hash.hex(),
        checkpoints=len(known.heads),
        faults=faults,
    )


async def _anchors(request: Request, tenant: str) -> checkpointing.Anchors:
    path, key = request.app.state.checkpoints, request.app.state.signing_key
    if path is None or key is None:
        return checkpointing.Anchors((), ())
    text = await asyncio.to_thread(_read, path)
    return checkpointing.anchors(text, key, tenant)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@router.get("/audit/records", summary="Records of the audit chain, in order")
async def records(
    request: Request,
    access: Auditor,
    after: Annotated[int, Query(ge=0, description="From after this place on.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many at most.")] = 1000,
) -> models.AuditPage:
    """As they were hashed: `canonical` are the very bytes; who did what and when stands beside them."""
    async with request.app.state.engine.connect() as connection:
        raw = await driver(connection)
        found = await ledger.page(raw, PLANE, access.tenant, after, limit)
        head = (await ledger.heads(raw, PLANE, access.tenant)).get(access.tenant, Head())
    return models.AuditPage(
        items=[_shown(record) for record in found],
        next=found[-1].seq if found and found[-1].seq < head.seq else None,
        head=models.AuditHead(seq=head.seq, hash=head.hash.hex()),
    )


def _shown(record: Record) -> models.AuditRecord:
    said: dict[str, Any] = orjson.loads(record.canonical)
    return models.AuditRecord(
        seq=record.seq,
        prev=record.prev.hex(),
        hash=record.hash.hex(),
        canonical=record.canonical.decode(),
        at=said["at"],
        actor=said["actor"],
        type=said["type"],
        subject=said["subject"],
    )
