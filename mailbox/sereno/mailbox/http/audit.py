"""What both planes answer about their audit chains; who may ask is for the plane to say."""

from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from sereno.mailbox.audit import crossing, ledger
from sereno.mailbox.audit.chain import Head, Record
from sereno.mailbox.audit.checkpointing import Anchors
from sereno.mailbox.connection import AnyConnection

After = Annotated[int, Query(ge=0, le=2**63 - 1, description="From after this place on.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="How many at most.")]
End = Annotated[str, Field(pattern=r"^[0-9]{1,15}:[0-9a-f]{64}$")]
Held = Annotated[
    list[End],
    Query(max_length=100, description="Ends of this chain that others kept, as `SEQ:HASH`."),
]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AuditFault(_Shape):
    """One thing that is wrong with a chain; `seq` is its place."""

    kind: Literal["changed", "missing", "forked", "cut", "unsigned"]
    seq: int
    message: str


class AuditReport(_Shape):
    """What walking the chain of a tenant found."""

    plane: str
    tenant: str
    whole: bool
    records: int
    seq: int
    hash: str
    checkpoints: int = Field(description="how many signed ends it was held against")
    held: int = Field(description="how many ends that others kept it was held against")
    faults: list[AuditFault]


class AuditRecord(_Shape):
    """One record of a chain; `said` is what stands in it in clear, the rest is a commitment."""

    seq: int
    prev: str
    hash: str
    canonical: str
    at: datetime
    actor: str
    type: str
    subject: str
    said: dict[str, Any] | None


class AuditHead(_Shape):
    """The end of a chain."""

    seq: int
    hash: str


class AuditPage(_Shape):
    """Records in order; `next` is the `after` of the following page, if there is one."""

    items: list[AuditRecord]
    next: int | None
    head: AuditHead


class AuditAnchor(_Shape):
    """An end of the other plane's chain, as record `record` of this one keeps it."""

    plane: str
    seq: int
    hash: str
    at: datetime
    record: int


class AuditAnchors(_Shape):
    """The last ones, oldest first."""

    items: list[AuditAnchor]


async def report(
    conn: AnyConnection, plane: str, tenant: str, signed: Anchors, held: list[str]
) -> AuditReport:
    """Every record against its hash and the one before it, the end against its head, and against what others kept."""
    kept = [Head(int(seq), bytes.fromhex(digest)) for seq, _, digest in (end.partition(":") for end in held)]
    found = await ledger.check(conn, plane, tenant, (*signed.heads, *kept))
    faults = [AuditFault(kind=f.kind, seq=f.seq, message=f.message) for f in found.faults]
    faults += [AuditFault(kind="unsigned", seq=0, message=message) for message in signed.faults]
    return AuditReport(
        plane=plane,
        tenant=tenant,
        whole=not faults,
        records=found.records,
        seq=found.head.seq,
        hash=found.head.hash.hex(),
        checkpoints=len(signed.heads),
        held=len(kept),
        faults=faults,
    )


async def page(conn: AnyConnection, plane: str, tenant: str, after: int, limit: int) -> AuditPage:
    """Records as they were hashed: `canonical` are the very bytes; who did what and when stands beside them."""
    found = await ledger.page(conn, plane, tenant, after, limit)
    head = (await ledger.heads(conn, plane, tenant)).get(tenant, Head())
    return AuditPage(
        items=[_shown(record) for record in found],
        next=found[-1].seq if found and found[-1].seq < head.seq else None,
        head=AuditHead(seq=head.seq, hash=head.hash.hex()),
    )


async def anchors(conn: AnyConnection, plane: str, tenant: str, limit: int) -> AuditAnchors:
    """The ends of the other plane's chain that stand in this one's."""
    found = (await crossing.anchors(conn, plane, tenant))[-limit:]
    items = [
        AuditAnchor(
            plane=a.plane,
            seq=a.head.seq,
            hash=a.head.hash.hex(),
            at=datetime.fromisoformat(a.at),
            record=a.record,
        )
        for a in found
    ]
    return AuditAnchors(items=items)


def _shown(record: Record) -> AuditRecord:
    said: dict[str, Any] = orjson.loads(record.canonical)
    return AuditRecord(
        seq=record.seq,
        prev=record.prev.hex(),
        hash=record.hash.hex(),
        canonical=record.canonical.decode(),
        at=said["at"],
        actor=said["actor"],
        type=said["type"],
        subject=said["subject"],
        said=said.get("said"),
    )
