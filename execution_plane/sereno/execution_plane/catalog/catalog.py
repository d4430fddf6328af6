"""The catalog in memory: every tenant's picture, read again from the database when a manifest was stored there."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from sereno.execution_plane.catalog.tenant import TenantCatalog, picture
from sereno.execution_plane.gateway.endpoint import Endpoint
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.principal import Principal
from sereno.subscriptions.snapshot import CatalogObject, Manifest, Refusal, loads

REFRESH_SECONDS = 1.0
_SQL = queries.load("sereno.execution_plane.catalog", "catalog.sql")
_log = logger("catalog")

Stamp = tuple[int, int, datetime]
Listener = Callable[[Sequence[str]], None]
"""Called with the tenants whose picture changed."""


class Catalog:
    """What this process knows of all tenants. Reading never waits; `refresh` brings it up to date."""

    def __init__(self, tenants: Iterable[TenantCatalog] = ()) -> None:
        self._tenants: dict[str, TenantCatalog] = {}
        self._endpoints: dict[str, Endpoint] = {}
        for tenant in tenants:
            self._put(tenant)
        self._stamps: dict[str, Stamp] = {}
        self._listeners: list[Listener] = []

    @property
    def tenants(self) -> tuple[TenantCatalog, ...]:
        """Every tenant's picture, by name."""
        return tuple(self._tenants[name] for name in sorted(self._tenants))

    def tenant(self, name: str) -> TenantCatalog | None:
        """One tenant's picture; None when no manifest of it was ever trusted."""
        return self._tenants.get(name)

    def endpoint(self, token_sha256: str) -> Endpoint | None:
        """The endpoint whose URL holds the token with this hash; one that was deleted says so itself."""
        # One look-up, whoever's it is: the time of an answer tells nothing about the other tenants.
        return self._endpoints.get(token_sha256)

    def principal(self, token_sha256: str, at: datetime | None = None) -> Principal | None:
        """Who shows the bearer token with this hash, unless it ended before `at`."""
        for tenant in self._tenants.values():
            if token_sha256 in tenant.principals:
                ends = tenant.expiries.get(token_sha256)
                ended = ends is not None and at is not None and at >= ends
                return None if ended else tenant.principals[token_sha256]
        return None

    def subscriptions(self, tenant: str) -> tuple[CatalogObject, ...]:
        """The tenant's subscriptions, by name, in whatever state."""
        found = self._tenants.get(tenant)
        return found.of_kind("Subscription") if found else ()

    def agents(self, tenant: str) -> tuple[CatalogObject, ...]:
        """The tenant's agents, by name."""
        found = self._tenants.get(tenant)
        return found.of_kind("Agent") if found else ()

    def valid_until(self, tenant: str) -> datetime | None:
        """Until when this plane may work from what it knows of the tenant."""
        found = self._tenants.get(tenant)
        return found.valid_until if found else None

    def on_change(self, listener: Listener) -> None:
        """Call `listener` after each refresh that changed something."""
        self._listeners.append(listener)

    async def refresh(self, pool: AnyPool) -> Sequence[str]:
        """Read again the tenants whose stored manifest is another; which these were."""
        rows = await pool.fetch(_SQL["versions"])
        stamps: dict[str, Stamp] = {
            r["tenant_id"]: (r["epoch"], r["version"], r["received_at"]) for r in rows
        }
        changed = [tenant for tenant, stamp in stamps.items() if self._stamps.get(tenant) != stamp]
        for tenant in changed:
            await self._read(pool, tenant)
        if changed:
            for listener in self._listeners:
                listener(changed)
        return changed

    async def follow(self, pool: AnyPool, stop: asyncio.Event) -> None:
        """Refresh each second until `stop`; while the database is away, what is known stays."""
        while not stop.is_set():
            try:
                await self.refresh(pool)
            except DATABASE_FAULTS as fault:
                _log.warning("catalog_retry", error=type(fault).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), REFRESH_SECONDS)

    async def _read(self, pool: AnyPool, tenant: str) -> None:
        row = await pool.fetchrow(_SQL["tenant"], tenant)
        if row is None:
            return
        manifest = _manifest(row["signed"])
        objects = [CatalogObject.model_validate(item) for item in row["objects"]]
        retired = [
            CatalogObject.model_validate_json(kept["canonical"])
            for kept in await pool.fetch(_SQL["retired_endpoints"], tenant)
        ]
        self._put(picture(manifest, objects, retired))
        self._stamps[tenant] = (row["epoch"], row["version"], row["received_at"])

    def _put(self, known: TenantCatalog) -> None:
        before = self._tenants.get(known.tenant)
        for token_sha256 in before.endpoints if before else ():
            self._endpoints.pop(token_sha256, None)
        self._endpoints.update(known.endpoints)
        self._tenants[known.tenant] = known


def _manifest(signed: bytes) -> Manifest:
    """What was stored after its signature had been checked."""
    stored = loads(signed)
    if isinstance(stored, Refusal):
        raise TypeError(f"the stored manifest cannot be read: {stored.message}")
    return Manifest.model_validate_json(stored.payload)


async def object_version(pool: AnyPool, tenant: str, key: str, version: int) -> CatalogObject | None:
    """An object as it was at one version, if this plane ever worked from it."""
    canonical = await pool.fetchval(_SQL["version_of_object"], tenant, key, version)
    return None if canonical is None else CatalogObject.model_validate_json(canonical)
