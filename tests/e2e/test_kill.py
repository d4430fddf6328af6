"""Processes that die at the worst moment: the short form of `make torture-pipeline` and `make torture-outbox`."""

from collections.abc import Iterator

import pytest

from tests.torture import outbox, pipeline
from tests.torture.killing import Plant, plant

ROUNDS = 1


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("plant") / "data") as running:
        yield running


@pytest.mark.timeout(1200)
@pytest.mark.req(22, 26)
def test_a_pipeline_that_dies_loses_and_doubles_nothing(running: Plant) -> None:
    assert pipeline.torture(running, ROUNDS) == []


@pytest.mark.timeout(1200)
def test_a_relay_that_dies_loses_and_doubles_nothing(running: Plant) -> None:
    assert outbox.torture(running, ROUNDS) == []
