"""The planes' chains hold each other: the end of one stands as a record in the other (mechanics, 26).

An end that is itself such a record is not sent, so that two planes at rest do not answer each other for ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.chain import Head, Record
from sereno.mailbox.audit.ledger import Entry
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

TYPE = "audit.anchored"
ACTOR = "svc:audit"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The end of the other plane's chain, as a record of this one says it."""

    plane: str
    head: Head
    at: str
    record: int


async def ends(conn: AnyConnection, schema: str, tenant: str | None = None) -> dict[str, Head]:
    """The ends of this plane's chains that say something new to the other, by tenant."""
    rows = await conn.fetch(_sql(schema, "ends"), tenant)
    return {
        row["tenant_id"]: Head(row["seq"], row["hash"])
        for row in rows
        if orjson.loads(row["canonical"])["type"] != TYPE
    }


async def anchored(conn: AnyConnection, schema: str) -> dict[str, Head]:
    """The last end of the other plane's chain that stands in this one's, by tenant."""
    return {
        row["tenant_id"]: Head(row["seq"], row["hash"]) for row in await conn.fetch(_sql(schema, "anchored"))
    }


async def anchor(
    conn: AnyConnection, schema: str, tenant: str, head: Head, *, other: str, at: datetime, key_id: str
) -> bool:
    """Chain the other plane's end in the caller's transaction; False when it, or a later one, stands there."""
    if await conn.fetchval(_sql(schema, "anchor"), tenant, head.seq, head.hash) is None:
        return False
    said = {"plane": other, "seq": head.seq, "hash": head.hash.hex(), "key_id": key_id}
    await ledger.append(conn, schema, tenant, [Entry(at, ACTOR, TYPE, f"plane/{other}", said=said)])
    return True


async def anchors(conn: AnyConnection, schema: str, tenant: str) -> list[Anchor]:
    """Every end of the other plane's chain that stands in this tenant's, in order."""
    return [found async for part in ledger.pages(conn, schema, tenant) for found in read(part)]


def read(records: Sequence[Record]) -> list[Anchor]:
    """Those among these records."""
    marked = (record for record in records if TYPE.encode() in record.canonical)
    return [found for record in marked if (found := _anchor(record)) is not None]


def _anchor(record: Record) -> Anchor | None:
    try:
        content: dict[str, Any] = orjson.loads(record.canonical)
        said = content["said"]
        head = Head(said["seq"], bytes.fromhex(said["hash"]))
    except (ValueError, KeyError, TypeError):
        # What is not JSON was changed, which the walk of the chain says.
        return None
    return Anchor(said["plane"], head, content["at"], record.seq) if content["type"] == TYPE else None


def _sql(schema: str, name: str) -> str:
    return queries.load("sereno.mailbox.audit", "audit.sql")[name].format(schema=schema)
