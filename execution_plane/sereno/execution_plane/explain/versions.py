"""Versions of subscriptions as they were, kept in memory once read: they are named by their hash and never change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.directory import compile_object
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.subscriptions.snapshot import CatalogObject

_SQL = queries.load("sereno.execution_plane.explain", "gather.sql")
_MOST = 20_000

_Key = tuple[str, str, int, str]
"""Tenant, key, version, SHA-256 of the canonical bytes."""


@dataclass(frozen=True)
class Version:
    """One version of a subscription, and, once it is asked for, the form that the matcher works with."""

    object: CatalogObject

    @cached_property
    def compiled(self) -> Subscription:
        """Ready to match; ValueError when this process does not know its form."""
        return compile_object(self.object)


class Versions:
    """Reads versions, each once as long as there is room for it."""

    def __init__(self) -> None:
        self._known: dict[_Key, Version] = {}

    async def of_verdicts(
        self, conn: AnyConnection, tenant: str, verdicts: Sequence[Mapping[str, Any]]
    ) -> Mapping[tuple[str, int], CatalogObject]:
        """The versions on which these verdicts were decided, by name and number."""
        if not verdicts:
            return {}
        keys = [f"subscription/{verdict['subscription']}" for verdict in verdicts]
        numbers = [verdict["subscription_version"] for verdict in verdicts]
        latest = max(verdict["decided_at"] for verdict in verdicts)
        rows = await conn.fetch(_SQL["versions"], tenant, keys, numbers, latest)
        found = [version.object for version in await self._read(conn, tenant, map(dict, rows))]
        return {(item.name, item.version): item for item in found}

    async def in_force(self, conn: AnyConnection, tenant: str, at: datetime) -> list[Version]:
        """Of each subscription the version that this plane worked from at that moment."""
        return await self._read(conn, tenant, map(dict, await conn.fetch(_SQL["in_force"], tenant, at)))

    async def _read(
        self, conn: AnyConnection, tenant: str, rows: Iterable[Mapping[str, Any]]
    ) -> list[Version]:
        keys: list[_Key] = [(tenant, row["key"], row["version"], row["sha256"]) for row in rows]
        known = {key: self._known[key] for key in keys if key in self._known}
        if lacking := [key for key in keys if key not in known]:
            columns = list(zip(*(key[1:] for key in lacking), strict=True))
            for row in await conn.fetch(_SQL["canonical"], tenant, *map(list, columns)):
                key = (tenant, row["key"], row["version"], row["sha256"])
                known[key] = Version(CatalogObject.model_validate_json(row["canonical"]))
            self._keep(known)
        return [known[key] for key in keys]

    def _keep(self, read: Mapping[_Key, Version]) -> None:
        if len(self._known) + len(read) > _MOST:
            self._known.clear()
        self._known.update(read)
