"""Principals and their tokens: declared, changed, issued and revoked, each in one transaction."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sereno.control_plane.catalog import declared, token
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.decider import Command
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.judging import Judge
from sereno.control_plane.catalog.plan import Intent, Step, step
from sereno.control_plane.catalog.principal import kind_of
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.catalog.token import EVERY_TENANT
from sereno.control_plane.committing import commit
from sereno.control_plane.minting import new_id
from sereno.control_plane.operating import Operated, change
from sereno.control_plane.store import heads, projection, rights
from sereno.control_plane.store.tables import TOKEN_USE

PREFIX = "srn_"
TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token with its text, which stands nowhere else."""

    item: Item
    text: str
    manifest: int


@dataclass(frozen=True, slots=True)
class Principal:
    """A principal to declare."""

    name: str
    roles: tuple[str, ...] = ()
    about: str | None = None

    def spec(self) -> dict[str, object]:
        """As it is stored."""
        about = {"about": self.about} if self.about else {}
        return {"kind": kind_of(self.name), "roles": sorted(set(self.roles)), **about}


async def declare(
    engine: AsyncEngine,
    tenant: str,
    wanted: Principal,
    *,
    by: Caller,
    at: datetime,
    reason: str | None = None,
) -> Operated | Refusal:
    """Make a principal known; refused when the name is taken, also when its holder was removed."""
    address = Address(tenant, "Principal", wanted.name)
    async with engine.connect() as connection:
        await heads.lock(connection, [tenant])
        allowed = (await rights.judge(connection, [tenant], by, at)).require(
            tenant, "administer", f"declare {address}"
        )
        if isinstance(allowed, Refusal):
            return allowed
        if await _taken(connection, address):
            return Refusal("not_allowed", f"{address} exists already; change it with principal edit")
        command = declared.Declare(address, wanted.spec(), {}, new_id(at))
        return await _committed(connection, None, command, by=by, at=at, reason=reason)


async def _taken(connection: AsyncConnection, address: Address) -> bool:
    above = Address(EVERY_TENANT, "Principal", address.name)
    return any([await projection.one(connection, where) is not None for where in (address, above)])


async def edit(
    engine: AsyncEngine,
    tenant: str,
    wanted: Principal,
    *,
    by: Caller,
    at: datetime,
    reason: str | None = None,
) -> Operated | Refusal:
    """Give a principal these roles and no others."""
    address = Address(tenant, "Principal", wanted.name)

    def command(item: Item, judge: Judge) -> Command | Refusal:
        answer = judge.operate(item, "edit")
        return (
            answer if isinstance(answer, Refusal) else declared.Declare(address, wanted.spec(), {}, item.id)
        )

    return await change(engine, address, command, by=by, reason=reason, at=at)


async def issue(
    engine: AsyncEngine,
    tenant: str,
    principal: str,
    *,
    scopes: Sequence[str],
    expires: datetime | None,
    label: str | None,
    by: Caller,
    at: datetime,
) -> Issued | Refusal:
    """Make a token for a principal of the tenant: an administrator for anybody, everybody for themselves."""
    text = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    async with engine.connect() as connection:
        await heads.lock(connection, [tenant])
        judge = await rights.judge(connection, [tenant], by, at)
        if principal != by.name or by.scopes:
            allowed = judge.require(tenant, "administer", f"issue a token for {principal}")
            if isinstance(allowed, Refusal):
                return allowed
        above = await projection.one(connection, Address(EVERY_TENANT, "Principal", principal))
        if above is not None and by.tenant != EVERY_TENANT:
            return Refusal(
                "forbidden", f"{principal} belongs to every tenant; its tokens are not made in one"
            )
        if judge.facts[tenant].subject(principal, at) is None:
            return Refusal("not_found", f"{principal} is not declared in tenant {tenant}")
        digest = sha256(text.encode()).hexdigest()
        command = token.Issue(tenant, new_id(at), digest, principal, tuple(scopes), expires, label)
        done = await _committed(connection, None, command, by=by, at=at, reason=None)
    return done if isinstance(done, Refusal) else Issued(done.item, text, done.manifest)


async def revoke(
    engine: AsyncEngine, tenant: str, name: str, *, by: Caller, at: datetime, reason: str
) -> Operated | Refusal:
    """End a token for good: an administrator any, everybody their own."""
    address = Address(tenant, "Token", name)

    def command(item: Item, judge: Judge) -> Command | Refusal:
        if item.spec["principal"] != by.name:
            answer = judge.require(tenant, "administer", f"revoke {address}")
            if isinstance(answer, Refusal):
                return answer
        return token.Revoke(address)

    return await change(engine, address, command, by=by, reason=reason, at=at)


async def _committed(
    connection: AsyncConnection,
    before: Item | None,
    command: Command,
    *,
    by: Caller,
    at: datetime,
    reason: str | None,
) -> Operated | Refusal:
    answer = step(before, command, Intent(by.name, at, reason))
    if not isinstance(answer, Step):
        return answer
    refusal = await commit(connection, [answer], actor=by.name, reason=reason, at=at)
    if refusal is not None:
        return refusal
    tenant = answer.after.address.tenant
    versions = await heads.versions(connection, [tenant])
    await connection.commit()
    return Operated(answer.after, versions[tenant])


async def last_used(connection: AsyncConnection, tenant: str) -> dict[str, datetime]:
    """When each token of the tenant was last shown, to the minute."""
    rows = await connection.execute(
        select(TOKEN_USE.c.token, TOKEN_USE.c.last_used_at).where(TOKEN_USE.c.tenant_id == tenant)
    )
    return {row.token: row.last_used_at for row in rows}
