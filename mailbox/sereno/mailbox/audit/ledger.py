"""The chains of one plane in its database: appended in the transaction of what they record, and read back in order."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sereno.mailbox.audit.chain import Head, Record, Report, canonical, verify
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

SALT_BYTES = 16
PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was done. `about` may hold personal data: the chain keeps only a salted commitment to it.

    `said` stands in the chain as it is: numbers, names and ids alone.
    """

    at: datetime
    actor: str
    type: str
    subject: str
    about: Mapping[str, Any] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)


async def append(
    conn: AnyConnection,
    schema: str,
    tenant: str,
    entries: Sequence[Entry],
    *,
    randomness: Callable[[int], bytes] = secrets.token_bytes,
) -> Head | None:
    """Chain the entries in the caller's transaction, as its last statement: if they cannot be, nothing is done."""
    if not entries:
        return None
    salts = [randomness(SALT_BYTES) for _ in entries]
    contents = [_content(schema, tenant, entry, salt) for entry, salt in zip(entries, salts, strict=True)]
    row = await conn.fetchrow(_sql(schema, "append"), tenant, contents, salts)
    if row is None:
        raise LookupError(f"the audit chain of tenant {tenant} did not say where it ends")
    return Head(row["seq"], row["hash"])


def _content(plane: str, tenant: str, entry: Entry, salt: bytes) -> bytes:
    # Cut to microseconds, as the database keeps times.
    at = entry.at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    said = {"said": dict(entry.said)} if entry.said else {}
    return canonical(
        {
            "plane": plane,
            "tenant": tenant,
            "at": at,
            "actor": entry.actor,
            "type": entry.type,
            "subject": entry.subject,
            "commitment": commitment(salt, entry.about),
            **said,
        }
    )


def commitment(salt: bytes, about: Mapping[str, Any]) -> str:
    """What the chain keeps of the data: with the salt it can be shown to be these, without it it says nothing."""
    return sha256(salt + canonical(about)).hexdigest()


async def heads(conn: AnyConnection, schema: str, tenant: str | None = None) -> dict[str, Head]:
    """Where each chain ends, by tenant."""
    rows = await conn.fetch(_sql(schema, "heads"), tenant)
    return {row["tenant_id"]: Head(row["seq"], row["hash"]) for row in rows}


async def page(conn: AnyConnection, schema: str, tenant: str, after: int, limit: int = PAGE) -> list[Record]:
    """Records of a chain in order of their place, from after a place on."""
    rows = await conn.fetch(_sql(schema, "page"), tenant, after, limit)
    return [Record(row["seq"], row["prev"], row["hash"], row["canonical"]) for row in rows]


async def pages(conn: AnyConnection, schema: str, tenant: str) -> AsyncIterator[list[Record]]:
    """The whole chain, a page at a time."""
    after = -1
    while records := await page(conn, schema, tenant, after):
        yield records
        after = records[-1].seq


async def check(conn: AnyConnection, schema: str, tenant: str, anchors: Sequence[Head] = ()) -> Report:
    """Walk the chain of a tenant as the database has it, off the event loop."""
    found = [record async for part in pages(conn, schema, tenant) for record in part]
    head = (await heads(conn, schema, tenant)).get(tenant, Head())
    return await asyncio.to_thread(verify, found, head, anchors)


def _sql(schema: str, name: str) -> str:
    return queries.load("sereno.mailbox.audit", "audit.sql")[name].format(schema=schema)
