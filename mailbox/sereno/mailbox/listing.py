"""What stands in the mailboxes, for people and for explain: JSON objects with identifiers as people see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sereno.envelope.identifiers import to_people
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.principal import Principal

_SQL = queries.load("sereno.mailbox", "listing.sql")
_CONTENT = frozenset({"instruction", "envelopes", "lineage", "context", "run"})


@dataclass(frozen=True, slots=True)
class Which:
    """Which messages of a mailbox; None is any. `reason` is why they are dead, `holder` a principal or an
    incarnation, age is counted in seconds since the deposit.
    """

    state: str | None = None
    subscription: str | None = None
    reason: str | None = None
    holder: str | None = None
    older_than_seconds: float | None = None

    def meant_state(self) -> str | None:
        """The state that these filters leave; only what is dead has a reason, only what is leased a holder."""
        for field, given, only in (("reason", self.reason, "dead"), ("holder", self.holder, "leased")):
            if given is not None and self.state not in (None, only):
                raise ValueError(f"{field}: expected with it no state but {only}, got {self.state}")
        if self.reason is not None and self.holder is not None:
            raise ValueError("holder: expected no reason beside it: what is dead is held by nobody")
        if self.reason is not None:
            return "dead"
        return self.state if self.holder is None else "leased"


EVERY = Which()


async def mailboxes(
    conn: "AnyConnection | AnyPool", tenant: str | None, reader: Principal
) -> list[dict[str, Any]]:
    """Each mailbox with open or dead messages: how many in which state, and since when the oldest is ready."""
    rows = await conn.fetch(_SQL["mailboxes"], tenant, _agents(reader))
    return [dict(row) for row in rows]


async def messages(
    conn: "AnyConnection | AnyPool", tenant: str, agent: str, which: Which = EVERY, *, limit: int = 100
) -> list[dict[str, Any]]:
    """The messages of a mailbox, newest first, with holder and token where one is leased.

    Raises ValueError naming the field that does not go with the others.
    """
    subscription, age = which.subscription, which.older_than_seconds
    match which.meant_state():
        case "dead":
            rows = await conn.fetch(
                _SQL["dead_messages"], tenant, agent, subscription, which.reason, age, limit
            )
        case "ready" | "leased" | "parked" as state:
            rows = await conn.fetch(
                _SQL["open_messages"], tenant, agent, state, subscription, which.holder, age, limit
            )
        case state:
            rows = await conn.fetch(_SQL["all_messages"], tenant, agent, state, subscription, age, limit)
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
