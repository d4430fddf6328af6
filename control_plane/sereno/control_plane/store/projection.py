"""The catalog as of now: one row an object, written in the transaction of the events it comes from."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Text, and_, func, literal, or_, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.item import Address, Item, Kind
from sereno.control_plane.catalog.selector import Selector
from sereno.control_plane.store.tables import CATALOG_OBJECT as OBJECT
from sereno.subscriptions.lifecycle import State

_ROWS_A_STATEMENT = 1_000
_KEYS = ("tenant_id", "kind", "name")
_LIVE = OBJECT.c.state != State.DELETED.value
_PRUNABLE = ("Subscription", "Endpoint", "Connector", "Grant", "Agent")


async def save(connection: AsyncConnection, items: Sequence[Item]) -> None:
    """Write the objects as they are now."""
    for start in range(0, len(items), _ROWS_A_STATEMENT):
        statement = insert(OBJECT).values([_row(item) for item in items[start : start + _ROWS_A_STATEMENT]])
        fields = {c.name: statement.excluded[c.name] for c in OBJECT.columns if c.name not in _KEYS}
        await connection.execute(statement.on_conflict_do_update(index_elements=_KEYS, set_=fields))


def _row(item: Item) -> dict[str, Any]:
    return {
        "tenant_id": item.address.tenant,
        "kind": item.address.kind,
        "name": item.address.name,
        "id": item.id,
        "version": item.version,
        "revision": item.revision,
        "state": item.state.value,
        "labels": dict(item.labels),
        "spec": dict(item.spec),
        "token_sha256": item.token_sha256,
        "created_by": item.created_by,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _item(row: RowMapping) -> Item:
    return Item(
        address=Address(row["tenant_id"], row["kind"], row["name"]),
        id=row["id"],
        version=row["version"],
        revision=row["revision"],
        state=State(row["state"]),
        labels=row["labels"],
        spec=row["spec"],
        token_sha256=row["token_sha256"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def _items(connection: AsyncConnection, *conditions: ColumnElement[bool]) -> list[Item]:
    statement = select(OBJECT).where(*conditions).order_by(OBJECT.c.tenant_id, OBJECT.c.kind, OBJECT.c.name)
    return [_item(row) for row in (await connection.execute(statement)).mappings()]


async def live(connection: AsyncConnection, tenant: str, *kinds: Kind) -> list[Item]:
    """The objects of a tenant that exist, of these kinds or of all."""
    of_kind = [OBJECT.c.kind.in_(kinds)] if kinds else []
    return await _items(connection, OBJECT.c.tenant_id == tenant, _LIVE, *of_kind)


async def recently_deleted(connection: AsyncConnection, tenant: str, limit: int) -> list[Item]:
    """The subscriptions of a tenant that were deleted last, at most so many."""
    statement = (
        select(OBJECT)
        .where(
            OBJECT.c.tenant_id == tenant,
            OBJECT.c.kind == "Subscription",
            OBJECT.c.state == State.DELETED.value,
        )
        .order_by(OBJECT.c.updated_at.desc(), OBJECT.c.name)
        .limit(limit)
    )
    return [_item(row) for row in (await connection.execute(statement)).mappings()]


async def one(connection: AsyncConnection, address: Address) -> Item | None:
    """The object at an address, also when it was deleted."""
    found = await _items(
        connection,
        OBJECT.c.tenant_id == address.tenant,
        OBJECT.c.kind == address.kind,
        OBJECT.c.name == address.name,
    )
    return found[0] if found else None


async def existing(connection: AsyncConnection, addresses: Collection[Address]) -> frozenset[Address]:
    """Those of the addresses at which an object lives."""
    wanted = select(
        func.unnest(literal([a.tenant for a in addresses], ARRAY(Text))),
        func.unnest(literal([a.kind for a in addresses], ARRAY(Text))),
        func.unnest(literal([a.name for a in addresses], ARRAY(Text))),
    )
    key = (OBJECT.c.tenant_id, OBJECT.c.kind, OBJECT.c.name)
    rows = await connection.execute(select(*key).where(_LIVE, tuple_(*key).in_(wanted)))
    return frozenset(Address(tenant, kind, name) for tenant, kind, name in rows)


async def prunable(connection: AsyncConnection, tenants: Collection[str], selector: Selector) -> list[Item]:
    """The objects of these tenants that exist and carry the label; tenants themselves are never pruned."""
    label = OBJECT.c.labels.op("->>")(selector.key)
    carries = label.is_not(None) if selector.value is None else label == selector.value
    return await _items(
        connection, OBJECT.c.tenant_id.in_(tenants), OBJECT.c.kind.in_(_PRUNABLE), _LIVE, carries
    )


async def dependents(connection: AsyncConnection, items: Sequence[Item]) -> dict[Address, frozenset[Address]]:
    """For each agent, endpoint and connector the subscriptions that refer to it and exist."""
    agent = OBJECT.c.spec.op("->>")("agent")
    endpoint = OBJECT.c.spec.op("#>>")(literal(["source", "webhook", "endpoint"], ARRAY(Text)))
    connector = OBJECT.c.spec.op("#>>")(literal(["source", "mcp", "connector"], ARRAY(Text)))
    found: dict[Address, frozenset[Address]] = {}
    for item in items:
        name, tenant = item.address.name, item.address.tenant
        refers = {
            "Agent": agent == f"agent:{name}",
            "Endpoint": endpoint == name,
            "Connector": connector == name,
        }.get(item.address.kind)
        if refers is not None:
            users = await _items(
                connection, OBJECT.c.tenant_id == tenant, OBJECT.c.kind == "Subscription", _LIVE, refers
            )
            found[item.address] = frozenset(user.address for user in users)
    return found


async def specs(
    connection: AsyncConnection, addresses: Sequence[Address]
) -> dict[Address, Mapping[str, Any]]:
    """What the objects at these addresses say, of those that exist."""
    wanted = [(each.tenant, each.kind, each.name) for each in addresses]
    keys = tuple_(OBJECT.c.tenant_id, OBJECT.c.kind, OBJECT.c.name)
    found = await _items(connection, keys.in_(wanted), _LIVE) if wanted else []
    return {item.address: item.spec for item in found}


async def credential(connection: AsyncConnection, sha256: str) -> Item | None:
    """The token with this hash that was not revoked. Of 256 random bits nobody learns anything by timing an index."""
    found = await _items(connection, OBJECT.c.token_sha256 == sha256, OBJECT.c.kind == "Token", _LIVE)
    return found[0] if found else None


async def rights(connection: AsyncConnection, tenant: str) -> list[Item]:
    """What rights in a tenant rest on; principals of every tenant come last, and removed ones are among them."""
    own = await _items(
        connection,
        OBJECT.c.tenant_id == tenant,
        OBJECT.c.kind.in_(("Principal", "Agent", "Grant", "Policy")),
        or_(_LIVE, OBJECT.c.kind == "Principal"),
    )
    return own + await _items(connection, OBJECT.c.tenant_id == "*", OBJECT.c.kind == "Principal")


async def subscriptions_on(connection: AsyncConnection, tenant: str, agents: Collection[str]) -> list[Item]:
    """The live subscriptions that wake these agents."""
    wanted = [f"agent:{name}" for name in agents]
    return await _items(
        connection,
        OBJECT.c.tenant_id == tenant,
        OBJECT.c.kind == "Subscription",
        _LIVE,
        OBJECT.c.spec.op("->>")("agent").in_(wanted),
    )


async def of_owner(connection: AsyncConnection, tenant: str, principal: str) -> list[Item]:
    """The live subscriptions that a principal owns or created."""
    owner = OBJECT.c.spec.op("->>")("owner")
    return await _items(
        connection,
        OBJECT.c.tenant_id == tenant,
        OBJECT.c.kind == "Subscription",
        _LIVE,
        or_(owner == principal, OBJECT.c.created_by == principal),
    )


async def everything(connection: AsyncConnection) -> list[Item]:
    """Every object of every tenant, also what was deleted."""
    return await _items(connection)


async def page(connection: AsyncConnection, tenant: str, kind: Kind, *, after: str, limit: int) -> list[Item]:
    """The objects of a kind that exist, by name, from after a name on."""
    statement = (
        select(OBJECT)
        .where(OBJECT.c.tenant_id == tenant, OBJECT.c.kind == kind, _LIVE, OBJECT.c.name > after)
        .order_by(OBJECT.c.name)
        .limit(limit)
    )
    return [_item(row) for row in (await connection.execute(statement)).mappings()]


async def travelling(connection: AsyncConnection, tenant: str) -> list[Item]:
    """What a tenant's manifest names: what lives, the principals that were removed, and what holds in every tenant."""
    own = await _items(connection, OBJECT.c.tenant_id == tenant, or_(_LIVE, OBJECT.c.kind == "Principal"))
    everywhere = await _items(
        connection,
        OBJECT.c.tenant_id == "*",
        or_(OBJECT.c.kind == "Principal", and_(OBJECT.c.kind == "Token", _LIVE)),
    )
    above = {item.name for item in everywhere if item.kind == "Principal"}
    return [item for item in own if item.kind != "Principal" or item.name not in above] + everywhere
