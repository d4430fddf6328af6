"""Fixtures that every kind of test shares: real engines, one set per worker, fresh data per test or module."""

from collections.abc import Iterator

import pytest

from tests import engines as running_engines
from tests.engines import Engines, Servers


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Running servers of this worker; started when the first test asks."""
    with running_engines.servers(tmp_path_factory.mktemp("engines")) as running:
        yield running


@pytest.fixture(scope="session")
def migrated_servers(servers: Servers) -> Iterator[Servers]:
    """The servers with the template database of this session."""
    running_engines.prepare_template(servers, running_engines.template_name())
    yield servers
    running_engines.drop_template(servers)


@pytest.fixture
def engines(migrated_servers: Servers) -> Iterator[Engines]:
    """A fresh database with all schemas, and empty streams, for one test."""
    with running_engines.fresh(migrated_servers) as engines:
        yield engines


@pytest.fixture(scope="module")
def module_engines(migrated_servers: Servers) -> Iterator[Engines]:
    """The same for the tests of one module; do not use `engines` beside it, since streams are emptied for each."""
    with running_engines.fresh(migrated_servers) as engines:
        yield engines
