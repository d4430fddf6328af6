"""Fixtures that every kind of test shares: real engines, one set per worker, fresh data per test or module."""

from collections.abc import Iterator

import pytest

from tests import engines as running_engines
from tests.databases import Databases
from tests.engines import Engines, Servers


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
