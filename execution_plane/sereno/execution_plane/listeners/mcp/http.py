"""The HTTP form of connected sources: what of a connector is met, pinned and polled, and the wishes of a person."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.catalog.rights import facts_in
from sereno.execution_plane.listeners.mcp.sources import SQL
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal
from sereno.subscriptions.models import ConnectorSpec
from sereno.subscriptions.policy.authority import Asking, may
from sereno.subscriptions.policy.decision import Resource


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MetTool(_Shape):
    """An allowed tool: its definition as it was met last, and the hash of the one that is pinned."""

    tool: str
    pinned: str
    pinned_at: datetime
    pinned_by: str
    met: str
    met_at: datetime
    changed: bool
    definition: dict[str, Any] = Field(description="written by the server: not trusted")


class PolledSource(_Shape):
    """One operation that is polled, for everybody who reads it."""

    source: str
    tool: str
    arguments: dict[str, Any]
    every: timedelta
    state: Literal["active", "stalled"]
    polled_at: datetime | None
    next_poll: datetime
    observations: int
    failures: int
    fault: str | None
    subscriptions: list[str]


class ConnectorStanding(_Shape):
    """What is known of a connector where its server is asked; `stopped` says why nothing is asked any more."""

    tenant: str
    connector: str
    paused: bool
    reload: int
    loaded: int
    connected_at: datetime | None
    fault: str | None
    stopped: str | None
    stopped_at: datetime | None
    stopped_why: str | None
    calls: int = Field(description="in the running hour")
    tools: list[MetTool]
    sources: list[PolledSource]


class ConnectorStandings(_Shape):
    """Every connector of a tenant, by name."""

    items: list[ConnectorStanding]


class PinRequest(_Shape):
    """Which tool's definition is accepted as it was met last; all of them, if none is named."""

    tool: str | None = None
    reason: str = Field(min_length=1)


class Pinned(_Shape):
    """What is pinned now, by tool; empty when everything was so already."""

    connector: str
    pinned: dict[str, str]


class Reloading(_Shape):
    """The number of the wish to connect anew; it is fulfilled when `loaded` has reached it."""

    connector: str
    reload: int


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The routes over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes = APIRouter(prefix="/v1/connectors", tags=["connectors"])
    Caller = Annotated[Principal, Depends(authenticate)]  # noqa: N806 - a type
    Whose = Annotated[str | None, Query(description="of this tenant")]  # noqa: N806 - a type

    @routes.get("", summary="What is known of connectors where their servers are asked")
    async def standings(caller: Caller, tenant: Whose = None) -> ConnectorStandings:
        return ConnectorStandings(items=await _standings(pool, _tenant(caller, catalog, tenant), None))

    @routes.get("/{name}", summary="What is known of a connector where its server is asked")
    async def standing(name: str, caller: Caller, tenant: Whose = None) -> ConnectorStanding:
        found = await _standings(pool, _tenant(caller, catalog, tenant), name)
        if not found:
            raise _unknown(name)
        return found[0]

    @routes.post("/{name}/pin", summary="Accept the definitions of tools as they were met last")
    async def pin(name: str, body: PinRequest, caller: Caller, tenant: Whose = None) -> Pinned:
        owner = _tenant(caller, catalog, tenant)
        spec = _spec(catalog, owner, name)
        _expect_right(caller, catalog, owner, f"pin connector {name}")
        fixed = [one.tool for one in spec.allow if one.sha256 is not None and body.tool in (None, one.tool)]
        if fixed and body.tool is not None:
            raise Problem(
                409, "declared", f"the definition of {body.tool} is declared: change sha256 in the connector"
            )
        async with pool.acquire() as connection, connection.transaction():
            by = f"{caller.name}: {body.reason}"[:500]
            rows = await connection.fetch(SQL["pin_what_was_met"], owner, name, by, body.tool)
            await connection.execute(SQL["notify"], f"{owner}/{name}")
        return Pinned(connector=name, pinned={row["tool"]: row["pinned"] for row in rows})

    @routes.post("/{name}/reload", summary="Connect anew, without losing a poll")
    async def reload(name: str, caller: Caller, tenant: Whose = None) -> Reloading:
        owner = _tenant(caller, catalog, tenant)
        _spec(catalog, owner, name)
        _expect_right(caller, catalog, owner, f"reload connector {name}")
        async with pool.acquire() as connection, connection.transaction():
            number = await connection.fetchval(SQL["ask_reload"], owner, name)
            await connection.execute(SQL["notify"], f"{owner}/{name}")
        if number is None:
            raise Problem(409, "not_yet", f"connector {name} has not reached the listeners yet; repeat")
        return Reloading(connector=name, reload=number)

    return routes


async def _standings(pool: AnyPool, tenant: str, name: str | None) -> list[ConnectorStanding]:
    tools = await pool.fetch(SQL["shown_tools"], tenant, name)
    polled = await pool.fetch(SQL["shown_sources"], tenant, name)
    return [
        ConnectorStanding(
            tenant=tenant,
            **dict(row),
            tools=[_tool(dict(one)) for one in tools if one["connector"] == row["connector"]],
            sources=[_source(dict(one)) for one in polled if one["connector"] == row["connector"]],
        )
        for row in await pool.fetch(SQL["shown"], tenant, name)
    ]


def _tool(row: Mapping[str, Any]) -> MetTool:
    fields = {name: value for name, value in row.items() if name != "connector"}
    return MetTool(**fields, changed=row["pinned"] != row["met"])


def _source(row: Mapping[str, Any]) -> PolledSource:
    return PolledSource(**{name: value for name, value in row.items() if name != "connector"})


def _tenant(caller: Principal, catalog: Catalog, tenant: str | None) -> str:
    if caller.token is not None or caller.agents is not None:
        raise Problem(403, "forbidden", "a worker's token does not reach connectors")
    reached = [one.tenant for one in catalog.tenants if caller.tenant in ("*", one.tenant)]
    wanted = tenant or (caller.tenant if caller.tenant != "*" else "default")
    if wanted not in reached:
        raise Problem(404, "not_found", f"there is no tenant {wanted} that this token reaches")
    return wanted


def _expect_right(caller: Principal, catalog: Catalog, tenant: str, what: str) -> None:
    """The policies of the manifest say who operates connectors. Raises `Problem`."""
    found, now = catalog.tenant(tenant), datetime.now(UTC)
    facts = facts_in(found.objects.values()) if found else None
    if facts is None:
        return
    decision = may(facts, Asking(caller.name, now), "operate", Resource("Tenant", tenant))
    if not decision.allowed:
        raise Problem(403, "forbidden", f"{caller.name} may not {what}")


def _spec(catalog: Catalog, tenant: str, name: str) -> ConnectorSpec:
    found = catalog.tenant(tenant)
    for one in found.of_kind("Connector") if found else ():
        if one.name == name and one.state != "deleted":
            return ConnectorSpec.model_validate(one.spec)
    raise _unknown(name)


def _unknown(name: str) -> Problem:
    return Problem(404, "not_found", f"there is no connector {name}; declare kind: Connector")
