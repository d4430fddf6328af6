"""A poller that dies between its writes: a short run of `make torture-mcp`."""

import os

import pytest

from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane
from tests.torture.mcp import POINTS, torture

ROUNDS = int(os.environ.get("SERENO_TORTURE_ROUNDS", str(len(POINTS))))


@pytest.mark.timeout(3600)
@pytest.mark.req(84)
async def test_every_item_is_exactly_one_message_wherever_a_poller_dies(
    plane: Plane, engines: Engines
) -> None:
    assert await torture(plane, engines, ROUNDS) == []
