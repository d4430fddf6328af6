"""The execution plane on fresh engines, with a stand-in for what the control plane publishes."""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from nats.aio.client import Client

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.engine.settings import Settings
from sereno.subscriptions.snapshot import dump_public_key
from tests.engines import Engines
from tests.integration.execution_plane.declaring import KEY_ID, Declarer

Eventually = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
async def pool(engines: Engines) -> AsyncIterator[AnyPool]:
    pool = await open_pool(engines.execution_dsn, application_name="tests", max_size=8)
    try:
        yield pool
    finally:
        await pool.close()


@pytest.fixture
async def operator(engines: Engines) -> AsyncIterator[Client]:
    """A connection that may read every stream."""
    async with _connected(engines, "operator") as client:
        yield client


@pytest.fixture
async def gateway_nats(engines: Engines) -> AsyncIterator[Client]:
    """A connection with the rights of the gateway."""
    async with _connected(engines, "gateway") as client:
        yield client


@pytest.fixture
async def declarer(engines: Engines) -> AsyncIterator[Declarer]:
    async with _connected(engines, "control") as client:
        yield Declarer(client)


@contextlib.asynccontextmanager
async def _connected(engines: Engines, process: str) -> AsyncIterator[Client]:
    client = await bus.connect(engines.nats, name=f"tests-{process}", seed=engines.seed(process))
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
def settings(engines: Engines, declarer: Declarer, tmp_path: Path) -> Callable[[str], Settings]:
    """Settings of a process by name, on a port that the system chooses."""
    trusted = tmp_path / "manifest-keys.json"
    trusted.write_text(json.dumps({KEY_ID: dump_public_key(declarer.private_key.public_key())}))
    lease_key = tmp_path / "lease.key"
    lease_key.write_bytes(secrets.token_bytes(32))

    def of(process: str) -> Settings:
        seed = engines.seed(process)
        seed_file = tmp_path / f"{process}.nk"
        if seed is not None:
            seed_file.write_text(seed)
        return Settings(
            postgres=engines.execution_dsn,
            nats=engines.nats,
            nats_seed_file=seed_file if seed is not None else None,
            execution_port=0,
            manifest_keys_file=trusted,
            lease_key_file=lease_key,
        )

    return of


@pytest.fixture
def eventually() -> Eventually:
    """Waits until a condition holds, at most a minute."""

    async def wait(condition: Callable[[], Awaitable[bool]]) -> None:
        until = time.monotonic() + 60
        while not await condition():
            assert time.monotonic() < until, "the condition never held"
            await asyncio.sleep(0.02)

    return wait
