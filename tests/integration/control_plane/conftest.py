"""The control plane on fresh engines, as the role and the NATS user it has in production."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from nats.aio.client import Client
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.applying import Applied, Request, apply
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.refusal import Refusals
from sereno.control_plane.catalog.selector import Selector
from sereno.control_plane.minting import utc_now
from sereno.control_plane.store.engine import open_engine
from sereno.mailbox.engine import bus
from sereno.subscriptions.faults import Faults
from tests.engines import Engines

Outcome = Applied | Faults | Refusals
Apply = Callable[..., Awaitable[Outcome]]


@pytest.fixture
async def engine(engines: Engines) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(engines.control_dsn, application_name="tests", pool_size=8)
    await bootstrap(engine, None)
    yield engine
    await engine.dispose()


@pytest.fixture
async def nats(engines: Engines) -> AsyncIterator[Client]:
    client = await bus.connect(engines.nats, name="tests", seed=engines.seed("control"))
    yield client
    await client.close()


@pytest.fixture
async def operator(engines: Engines) -> AsyncIterator[Client]:
    """Who may read everything."""
    client = await bus.connect(engines.nats, name="tests-operator", seed=engines.seed("operator"))
    yield client
    await client.close()


@pytest.fixture
def applying(engine: AsyncEngine) -> Apply:
    """Apply documents as the administrator."""

    async def run(documents: str, *, prune: str | None = None, **options: object) -> Outcome:
        selector = Selector.parse(prune) if prune else None
        request = Request(documents, Caller("user:admin"), utc_now(), prune=selector, **options)  # type: ignore[arg-type]
        return await apply(engine, request)

    return run
