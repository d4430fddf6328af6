"""A mailbox on a fresh database, as the role that owns it in production sees it."""

from collections.abc import AsyncIterator

import pytest

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.verbs import Mailbox
from tests.engines import Engines


@pytest.fixture
async def pool(engines: Engines) -> AsyncIterator[AnyPool]:
    pool = await open_pool(engines.execution_dsn, application_name="tests", max_size=8)
    try:
        yield pool
    finally:
        await pool.close()


@pytest.fixture
def mailbox(pool: AnyPool) -> Mailbox:
    return Mailbox(pool, poll_seconds=0.2)
