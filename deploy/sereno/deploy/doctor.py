"""Checks of an installation: does each engine answer, with the rights it should have, and without a backlog."""

import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import httpx
from nats.errors import Error as NatsError

from sereno.deploy import database, facts, nats_identities
from sereno.deploy.finding import Finding
from sereno.mailbox.engine import bus, outbox, postgres, queries
from sereno.mailbox.engine.bus import BusUnreachableError
from sereno.mailbox.engine.postgres import DatabaseUnreachableError

OLD_TRANSACTION_SECONDS = 60.0
LAG_SECONDS = 10.0


async def examine(discovery: dict[str, Any], seed: str | None, data: Path) -> Sequence[Finding]:
    """All checks of a running installation, as its `sereno.json` describes it; `seed` is the operator's for NATS, `data` its
    folder.
    """
    findings = [
        await _plane("control plane", discovery["control_url"]),
        await _plane("execution plane", discovery["execution_url"]),
        *[await _plane(name, url) for name, url in _others(discovery).items()],
    ]
    shown = facts.samples(
        [page for url in discovery.get("probes", {}).values() if (page := await _metrics(url))]
    )
    usage = shutil.disk_usage(data)
    findings += [facts.versions(shown), facts.disk(str(data), usage.free, usage.total)]
    findings += await _guarded("PostgreSQL", _postgres, discovery["postgres"])
    findings += await _guarded("NATS", _nats, discovery["nats"], seed)
    return [*findings, *facts.findings(shown)]


def _others(discovery: dict[str, Any]) -> dict[str, str]:
    """The processes that have no API."""
    probes: dict[str, str] = discovery.get("probes", {})
    return {name: url for name, url in probes.items() if name not in {"control", "gateway"}}


async def _metrics(url: str) -> str:
    """The metrics of a process; nothing, when it does not answer, which is said elsewhere."""
    try:
        async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
            answer = await client.get(f"{url}/metrics")
    except httpx.HTTPError:
        return ""
    return answer.text if answer.is_success else ""


async def _guarded(
    check: str, examination: Callable[..., Awaitable[list[Finding]]], *arguments: object
) -> list[Finding]:
    try:
        return await examination(*arguments)
    except (
        DatabaseUnreachableError,
        BusUnreachableError,
        asyncpg.PostgresError,
        NatsError,
        OSError,
    ) as fault:
        return [Finding(check, False, str(fault) or type(fault).__name__, "see 'sereno logs'")]


async def _plane(check: str, url: str) -> Finding:
    started = time.monotonic()
    try:
        async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
            answer = await client.get(f"{url}/readyz")
    except httpx.HTTPError as fault:
        return Finding(check, False, f"{url} does not answer: {fault}", "start it with 'sereno up'")
    took = f"{url} answered in {(time.monotonic() - started) * 1000:.0f} ms"
    failing = [f"{name}: {state}" for name, state in answer.json().get("checks", {}).items() if state != "ok"]
    return Finding(
        check,
        answer.is_success,
        "; ".join([took, *failing]),
        "" if answer.is_success else "see 'sereno logs'",
    )


async def _postgres(dsn: str) -> list[Finding]:
    connection = await postgres.connect(dsn, application_name="sereno-doctor")
    try:
        version = connection.get_settings().server_version
        return [
            Finding("PostgreSQL", True, f"version {version} at {postgres.address(dsn)}"),
            await _clock(connection),
            await _durability(connection),
            await _roles(connection),
            await _oldest_transaction(connection),
            *[await _lag(connection, plane) for plane in ("control", "execution")],
        ]
    finally:
        await connection.close()


def _sql(name: str) -> str:
    return queries.load("sereno.deploy", "doctor.sql")[name]


async def _clock(connection: "asyncpg.Connection[asyncpg.Record]") -> Finding:
    before = time.time()
    theirs = float(await connection.fetchval(_sql("clock")))
    # It read its clock about half-way.
    return facts.clock(theirs - (before + time.time()) / 2)


async def _durability(connection: "asyncpg.Connection[asyncpg.Record]") -> Finding:
    off = [row["name"] for row in await connection.fetch(_sql("settings_that_lose_data"))]
    found = f"off: {', '.join(off)}" if off else "a commit is on disk"
    return Finding(
        "durability", not off, found, "turn them on: a crash loses acknowledged work" if off else ""
    )


async def _roles(connection: "asyncpg.Connection[asyncpg.Record]") -> Finding:
    trespassing = await connection.fetch(_sql("rights_beyond_the_own_schema"), list(database.ROLES))
    if trespassing:
        found = "; ".join(f"{row['role']} may read {row['schema']}" for row in trespassing)
        return Finding(
            "roles", False, found, "start again with 'sereno up', which grants each its own schema only"
        )
    return Finding("roles", True, "each role reads its own schemas only")


async def _oldest_transaction(connection: "asyncpg.Connection[asyncpg.Record]") -> Finding:
    row = await connection.fetchrow(_sql("oldest_transaction"))
    if row is None:
        return Finding("oldest transaction", True, "none")
    age = float(row["age_seconds"])
    fine = age < OLD_TRANSACTION_SECONDS
    found = f"{age:.1f} s, process {row['pid']} ({row['application'] or 'unnamed'})"
    return Finding(
        "oldest transaction", fine, found, "" if fine else "end it: reports and signals wait for it"
    )


async def _lag(connection: "asyncpg.Connection[asyncpg.Record]", plane: str) -> Finding:
    waiting, age = await outbox.lag(connection, plane)
    fine = age < LAG_SECONDS
    found = f"{waiting} rows wait, the oldest {age:.1f} s"
    return Finding(
        f"outbox of {plane}", fine, found, "" if fine else "see 'sereno logs listeners' and 'control'"
    )


async def _nats(url: str, seed: str | None) -> list[Finding]:
    client = await bus.connect(url, name="sereno-doctor", seed=seed)
    try:
        jetstream = client.jetstream()
        version = client.connected_server_version
        found = f"version {version.major}.{version.minor}.{version.patch} at {bus.address(url)}"
        findings = [Finding("NATS", True, found)]
        for name in (bus.INGRESS, bus.REPORTS):
            state = (await jetstream.stream_info(name)).state
            findings.append(
                Finding(f"stream {name}", True, f"{state.messages} messages, {state.bytes} bytes")
            )
        if seed is None:
            findings.append(
                Finding(
                    "identities on NATS",
                    False,
                    "all processes share what the URL says",
                    f"give each its nkey: {', '.join(sorted(nats_identities.PERMISSIONS))}",
                )
            )
    finally:
        await client.close()
    return findings
