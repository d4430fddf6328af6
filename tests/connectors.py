"""Connectors, sources and a listener of them for tests, on a clock that the test drives."""

import json
import os
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.listeners.mcp.connections import opening
from sereno.execution_plane.listeners.mcp.mcp_listener import LEASE, McpListener
from sereno.mailbox.outbound import Addresses
from sereno.subscriptions.models import ConnectorSpec
from sereno.subscriptions.snapshot import CatalogObject
from tests.driven_clock import DAY, Clock
from tests.passages import TENANT, declared

SERVER = Path(__file__).parent / "mcp_server.py"
ANYTHING = {"type": "object"}
_OUTER = ("version", "state", "tenant", "instruction", "condition", "filters", "limits")


class Script:
    """What the scripted server of `tests/mcp_server.py` does, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "script.json"
        self.now: dict[str, Any] = {"items": []}
        self.write()

    def write(self, **changes: Any) -> None:
        self.now |= changes
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.now))
        beside.replace(self.path)

    def items(self, *ids: str, **more: Any) -> None:
        self.write(items=[{"id": one, **more} for one in ids])

    @property
    def command(self) -> list[str]:
        # Neither site packages nor our environment: it starts in a moment.
        return [sys.executable, "-I", "-S", str(SERVER), str(self.path)]

    @property
    def calls(self) -> list[dict[str, Any]]:
        log = self.path.parent / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def asked(self, tool: str = "list_items") -> int:
        return sum(call["tool"] == tool for call in self.calls)


def spec(command: list[str], *tools: str, **more: Any) -> dict[str, Any]:
    """A connector's specification with these tools allowed."""
    server: dict[str, Any] = {"command": command}
    for key in ("environment", "credentials"):
        if key in more:
            server[key] = more.pop(key)
    written = {
        "owner": "user:marta",
        "purpose": "Tests of what is polled",
        "scope": "read items",
        "retention": "30d",
        "control": "sereno connectors pause",
        "sensitivity": "internal",
        "egress": "local",
        "transport": {"stdio": server},
        "allow": [{"tool": tool, "arguments": ANYTHING} for tool in tools],
        **more,
    }
    return ConnectorSpec.model_validate(written).model_dump(mode="json", exclude_none=True)


def connector(
    name: str, written: dict[str, Any], *, version: int = 1, state: str = "active", tenant: str = TENANT
) -> CatalogObject:
    """A connector as the catalog holds it."""
    return CatalogObject(
        kind="Connector",
        tenant=tenant,
        name=name,
        id=str(uuid5(NAMESPACE_URL, f"{tenant}/connector/{name}")),
        version=version,
        state=state,
        spec=written,
        created_by="user:marta",
        updated_at=DAY,
    )


def watching(name: str, **more: Any) -> Any:
    """A subscription to the items of a connector, polled each minute unless it says otherwise."""
    outer = {key: more.pop(key) for key in _OUTER if key in more}
    source = {
        "connector": "items",
        "tool": "list_items",
        "every": "1m",
        "items": "result.items",
        "id": "item.id",
        **more,
    }
    return declared(name, updated_at=DAY, source={"mcp": source}, **outer)


class SourceClock(Clock):
    """Listeners of connected sources on a clock that the test drives, and the pipeline behind them."""

    open: list[McpListener]

    def __init__(
        self, plane: Any, environment: dict[str, str] | None = None, networks: tuple[str, ...] = ()
    ) -> None:
        super().__init__(plane)
        self.open = []
        self._secrets = Secrets(environment or {})
        self._addresses = Addresses.opening(networks)
        self.now = DAY

    def sources(self, *, lease: timedelta = LEASE) -> McpListener:
        """One more listener, as in another process."""
        listener = McpListener(
            self.plane.pool,
            os.urandom,
            opening(lambda one: next(iter(self._secrets.active((one,))), None), self._addresses),
            lease=lease,
        )
        self.open.append(listener)
        return listener

    async def close(self) -> None:
        for listener in self.open:
            await listener.close()

    async def poll(self, after: timedelta = timedelta(minutes=2), listener: McpListener | None = None) -> int:
        """Let a listener look so much later, and the pipeline decide what it wrote; how many sources had a turn."""
        self.now += after
        turns = await (listener or (self.open[0] if self.open else self.sources())).observe(self.now)
        await self.decide()
        return turns

    async def woken(self) -> list[tuple[str, str]]:
        """Subscription and event of every message, sorted."""
        rows = await self.plane.rows("select subscription, envelopes from mailbox.message")
        return sorted((row["subscription"], one["id"]) for row in rows for one in row["envelopes"])

    async def told(self) -> Counter[str]:
        """The kinds of the notices, each with how often it was told."""
        rows = await self.plane.rows(
            "select kind, sum(count)::int as count from mailbox.notice group by kind"
        )
        return Counter({row["kind"]: row["count"] for row in rows})

    async def source(self) -> dict[str, Any]:
        """The one source."""
        (row,) = await self.plane.rows("select * from execution.mcp_source")
        return row

    async def fault(self) -> str | None:
        fault: str | None = (await self.source())["fault"]
        return fault
