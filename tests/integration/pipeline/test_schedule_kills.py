"""Two schedulers that die at random, on a clock that jumps: a short run of `make torture-schedules`."""

import pytest

from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane
from tests.torture.schedules import torture


@pytest.mark.req(107)
async def test_every_slot_is_exactly_one_message(plane: Plane, engines: Engines) -> None:
    assert await torture(plane, engines, rounds=4, seed=7) == []
