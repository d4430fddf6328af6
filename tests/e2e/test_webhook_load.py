"""A thousand signed webhooks from 32 connections: each becomes one message. `make bench-smoke` times the answers."""

from collections import Counter

import pytest

from tests.e2e.running import DOCUMENTS, Running, endpoint_url, until
from tests.e2e.webhook_load import send

COUNT = 1000
CONNECTIONS = 32


@pytest.mark.timeout(600)
async def test_each_of_a_thousand_webhooks_becomes_one_message(installation: Running) -> None:
    url = endpoint_url(installation.apply(DOCUMENTS))
    before = installation.ready("reviewer")
    # Numbers that no other test of this installation uses: the same body twice is one event.
    load = await send(url, count=COUNT, connections=CONNECTIONS, first=100_001)
    assert Counter(load.codes) == {202: COUNT}
    until(lambda: installation.ready("reviewer") >= before + COUNT)
    assert installation.ready("reviewer") == before + COUNT
