"""What stands in the mailboxes, for people and for explain: JSON objects with identifiers as people see them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sereno.envelope.identifiers import to_people
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.principal import Principal

_SQL = queries.load("sereno.mailbox", "listing.sql")
_CONTENT = frozenset({"instruction", "envelopes", "lineage", "context", "run"})


async def mailboxes(
    conn: "AnyConnection | AnyPool", tenant: str | None, reader: Principal
) -> list[dict[str, Any]]:
    """Each mailbox with open or dead messages: how many in which state, and since when the oldest is ready."""
    rows = await conn.fetch(_SQL["mailboxes"], tenant, _agents(reader))
    return [dict(row) for row in rows]


async def messages(
    conn: "AnyConnection | AnyPool", tenant: str, agent: str, *, state: str | None = None, limit: int = 100
) -> list[dict[str, Any]]:
    """The messages of a mailbox, newest first, with holder and token where one is leased."""
    match state:
        case "ready" | "leased" | "parked":
            rows = await conn.fetch(_SQL["open_messages"], tenant, agent, state, limit)
        case "dead":
            rows = await conn.fetch(_SQL["dead_messages"], tenant, agent, limit)
        case _:
            rows = await conn.fetch(_SQL["all_messages"], tenant, agent, state, limit)
    return [_of_list(_for_people(dict(row))) for row in rows]


async def message(
    conn: "AnyConnection | AnyPool", identifier: UUID, reader: Principal
) -> dict[str, Any] | None:
    """One message with its history of leases; None when there is none in the reader's reach."""
    tenant = None if reader.tenant == "*" else reader.tenant
    row = await conn.fetchrow(_SQL["message"], tenant, identifier, _agents(reader))
    if row is None:
        return None
    history = await conn.fetch(_SQL["history"], row["tenant_id"], identifier)
    return _for_people(dict(row)) | {"history": [dict(event) for event in history]}


def _of_list(row: dict[str, Any]) -> dict[str, Any]:
    """A message in a list goes without what it is about."""
    return {key: value for key, value in row.items() if key not in _CONTENT}


def _agents(reader: Principal) -> list[str] | None:
    return None if reader.agents is None else sorted(reader.agents)


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    row["tenant"] = row.pop("tenant_id")
    subscription: Mapping[str, Any] = {
        "name": row.pop("subscription"),
        "version": row.pop("subscription_version"),
    }
    run = {"run": to_people("run", row.pop("run_id"))} if "run_id" in row else {}
    return row | {"id": to_people("msg", row["id"]), "subscription": subscription} | run
