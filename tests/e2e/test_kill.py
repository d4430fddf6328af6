"""Processes that die at the worst moment: the short form of `make torture-pipeline` and `make torture-outbox`."""

from pathlib import Path

import pytest

from tests.torture import outbox, pipeline
from tests.torture.killing import plant

ROUNDS = 1


@pytest.mark.timeout(400)
@pytest.mark.req(22, 26)
def test_a_pipeline_that_dies_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with plant(tmp_path / "data") as running:
        assert pipeline.torture(running, ROUNDS) == []


@pytest.mark.timeout(400)
def test_a_relay_that_dies_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with plant(tmp_path / "data") as running:
        assert outbox.torture(running, ROUNDS) == []
