"""A thousand signed webhooks from 32 connections: each becomes one message. `make bench-smoke` times the answers."""

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.running import DOCUMENTS, endpoint_url, running, until
from tests.e2e.webhook_load import send

COUNT = 1000
CONNECTIONS = 32


@pytest.mark.timeout(240)
async def test_each_of_a_thousand_webhooks_becomes_one_message(tmp_path: Path) -> None:
    with running(tmp_path / "data") as sereno:
        url = endpoint_url(sereno.apply(DOCUMENTS))
        await send(url, count=64, connections=CONNECTIONS, first=10_001)  # connections, imports and caches
        load = await send(url, count=COUNT, connections=CONNECTIONS)
        assert Counter(load.codes) == {202: COUNT}
        until(lambda: sereno.ready("reviewer") >= COUNT + 64)
        assert sereno.ready("reviewer") == COUNT + 64
