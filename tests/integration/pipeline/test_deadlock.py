"""Some rounds of `make torture-deadlock`: whoever locks, locks in the one order of the plane."""

import asyncio

from tests.engines import Engines
from tests.torture import deadlock


def test_pipelines_holders_reaper_stop_and_pause_never_wait_for_each_other(engines: Engines) -> None:
    done = asyncio.run(deadlock.run(engines.execution_dsn, rounds=8, seed=11))
    assert done.deadlocks == 0
    assert {"delivered", "ended", "reaped"} <= {name for name, count in done.happened.items() if count}
