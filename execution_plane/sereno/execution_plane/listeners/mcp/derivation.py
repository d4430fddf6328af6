"""Which sources are polled: those that subscriptions of the catalog name, brought in line when a manifest changed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sereno.execution_plane.listeners.mcp import telling
from sereno.execution_plane.listeners.mcp.sources import SQL
from sereno.execution_plane.platform_events import outgoing
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import outbox
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions import observation
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import ConnectorSpec, SubscriptionSpec
from sereno.subscriptions.models.source import McpSource
from sereno.subscriptions.snapshot import CatalogObject

_log = logger("mcp")
Connectors = Mapping[str, tuple[CatalogObject, ConnectorSpec]]


@dataclass(frozen=True, slots=True)
class Reader:
    """A subscription that wants a source polled."""

    id: UUID
    name: str
    version: int
    asks: McpSource
    account: str

    @property
    def source(self) -> str:
        """The identity of the operation."""
        return observation.operation(self.asks, account=self.account, subscription=self.name)

    @property
    def reading(self) -> str:
        """The identity of its items."""
        return observation.reading(self.asks, account=self.account, subscription=self.name)

    @property
    def view(self) -> str:
        """The identity of its signals."""
        return observation.view(self.asks, subscription=self.name)

    @property
    def backfill(self) -> int:
        """How many items that were there before count as news."""
        return 0 if self.asks.first == "seed" else self.asks.first.backfill


async def derive(connection: AnyConnection, tenant: str, now: datetime) -> None:
    """Poll what is declared now and nothing else, in the caller's transaction."""
    await connection.execute(SQL["lock_catalog"], tenant)
    connectors = await _connectors(connection, tenant)
    readers = await _readers(connection, tenant, connectors)
    await _put_connectors(connection, tenant, connectors)
    await _put_readers(connection, tenant, readers, now)
    await connection.execute(SQL["drop_readers"], tenant, [one.id for one in readers])
    await connection.execute(SQL["drop_unread"], tenant)


async def _connectors(connection: AnyConnection, tenant: str) -> Connectors:
    found: dict[str, tuple[CatalogObject, ConnectorSpec]] = {}
    for row in await connection.fetch(SQL["declared_connectors"], tenant):
        declared = CatalogObject.model_validate(row["object"])
        try:
            found[declared.name] = declared, ConnectorSpec.model_validate(declared.spec)
        except ValueError as fault:
            # One of a newer control plane must not stop those that are understood.
            _log.error("connector_not_usable", tenant=tenant, connector=declared.name, error=str(fault))
    return found


async def _readers(connection: AnyConnection, tenant: str, connectors: Connectors) -> list[Reader]:
    found = []
    for row in await connection.fetch(SQL["declared_readers"], tenant):
        declared = CatalogObject.model_validate(row["object"])
        try:
            asks = SubscriptionSpec.model_validate(declared.spec).source.mcp
        except ValueError as fault:
            _log.error("source_not_usable", tenant=tenant, subscription=declared.name, error=str(fault))
            continue
        if asks is not None and asks.connector in connectors:
            account = account_of(asks.connector, connectors[asks.connector][1])
            found.append(Reader(UUID(declared.id), declared.name, declared.version, asks, account))
    return found


def account_of(name: str, spec: ConnectorSpec) -> str:
    """By what calls in flight are counted: the bound account, whichever connectors share it, else the connector."""
    return f"connector:{name}" if spec.account is None else f"account:{spec.account.id}"


async def _put_connectors(connection: AnyConnection, tenant: str, connectors: Connectors) -> None:
    names = list(connectors)
    await connection.execute(
        SQL["put_connectors"],
        tenant,
        names,
        [dict(declared.spec) for declared, _ in connectors.values()],
        [observation_text(declared) for declared, _ in connectors.values()],
        [declared.state == State.PAUSED for declared, _ in connectors.values()],
    )
    await connection.execute(SQL["drop_connectors"], tenant, names)
    most: dict[str, int] = {}
    for name, (_, spec) in connectors.items():
        account = account_of(name, spec)
        # The least of those that share an account: it is the account's own limit.
        most[account] = min(most.get(account, spec.limits.in_flight), spec.limits.in_flight)
    await connection.execute(SQL["drop_slots"], tenant, list(most), list(most.values()))
    await connection.execute(SQL["put_slots"], tenant, list(most), list(most.values()))


def observation_text(declared: CatalogObject) -> str:
    """Which text of a connector this is: its state may change and the text stay."""
    return f"{declared.id}@{declared.version}"


async def _put_readers(
    connection: AnyConnection, tenant: str, readers: Sequence[Reader], now: datetime
) -> None:
    before = {row["subscription"]: row for row in await connection.fetch(SQL["readers"], tenant)}
    lost = [one for one in readers if one.id in before and before[one.id]["reading"] != one.reading]
    await _put_sources(connection, tenant, readers, now)
    readings = {one.reading: one for one in readers}
    await connection.execute(
        SQL["put_readings"],
        tenant,
        list(readings),
        [one.source for one in readings.values()],
        [written(one.asks) for one in readings.values()],
        [one.backfill for one in readings.values()],
    )
    await connection.execute(
        SQL["put_readers"],
        tenant,
        [one.id for one in readers],
        [one.name for one in readers],
        [one.version for one in readers],
        [one.source for one in readers],
        [one.reading for one in readers],
        [one.view for one in readers],
        [written(one.asks) for one in readers],
    )
    await _tell_lost(connection, tenant, lost, now)


async def _put_sources(
    connection: AnyConnection, tenant: str, readers: Iterable[Reader], now: datetime
) -> None:
    sources: dict[str, Reader] = {}
    for one in readers:
        known = sources.setdefault(one.source, one)
        if one.asks.every < known.asks.every:
            sources[one.source] = one
    await connection.execute(
        SQL["put_sources"],
        tenant,
        list(sources),
        [one.asks.connector for one in sources.values()],
        [one.account for one in sources.values()],
        [one.asks.tool for one in sources.values()],
        [written(one.asks) for one in sources.values()],
        [one.asks.every for one in sources.values()],
        now,
    )


async def _tell_lost(connection: AnyConnection, tenant: str, lost: Sequence[Reader], now: datetime) -> None:
    for one in lost:
        begins = f"backfill {one.backfill}" if one.backfill else "head"
        notice, event = telling.cursor_lost(tenant, one.name, one.version, one.asks.connector, begins, now)
        await notices.record(connection, [notice])
        await outbox.append(connection, "execution", outgoing([event]))


def written(source: McpSource) -> dict[str, Any]:
    """A source as it is stored."""
    return source.model_dump(mode="json", exclude_none=True)
