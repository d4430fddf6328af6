"""Fixtures that every kind of test shares: real engines, one set per worker, fresh data per test or module."""

import os
from collections.abc import Iterator

import hypothesis
import pytest

from tests import engines as running_engines
from tests.databases import Databases
from tests.distribution import LongestFirst, place
from tests.e2e.running import Running, running
from tests.engines import Engines, Servers

# The suite asks the same questions each time, however slow the machine; `make torture-properties` asks many new ones.
hypothesis.settings.register_profile(
    "suite",
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("search", max_examples=2000, deadline=None)
hypothesis.settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LongestFirst:
    """Whole modules to a worker, the longest first."""
    config.option.loadscopereorder = False
    return LongestFirst(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In the order in which they are handed out to workers; alone, the quick ones come first."""
    items.sort(key=lambda item: place(item.nodeid), reverse="PYTEST_XDIST_WORKER" not in os.environ)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Running servers of this worker; started when the first test asks."""
    with running_engines.servers(tmp_path_factory.mktemp("engines")) as running:
        yield running


@pytest.fixture(scope="session")
def databases(servers: Servers) -> Iterator[Databases]:
    """The copies of this worker's template."""
    with running_engines.databases(servers) as copies:
        yield copies


@pytest.fixture
def engines(servers: Servers, databases: Databases) -> Iterator[Engines]:
    """A fresh database with all schemas, and empty streams, for one test."""
    with running_engines.fresh(servers, databases) as engines:
        yield engines


@pytest.fixture(scope="module")
def module_engines(servers: Servers, databases: Databases) -> Iterator[Engines]:
    """The same for the tests of one module; do not use `engines` beside it, since streams are emptied for each."""
    with running_engines.fresh(servers, databases) as engines:
        yield engines


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A whole Sereno of this worker, for tests that stop none of it: each with agents of its own, or counting what is new."""
    with running(tmp_path_factory.mktemp("installation") / "data") as sereno:
        yield sereno
