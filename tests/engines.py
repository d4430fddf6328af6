"""The engines of the tests: real PostgreSQL and NATS, looked for in the environment, then Docker, then embedded.

`SERENO_TEST_POSTGRES` is the DSN of a superuser, `SERENO_TEST_NATS` the URL of a server with JetStream. Both must
be for tests alone: databases are made and dropped there, streams emptied.
"""

import asyncio
import contextlib
import fcntl
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sereno.deploy import database, nats_identities
from sereno.deploy.embedded_nats import EmbeddedNats
from sereno.deploy.embedded_postgres import UNSAFE_BUT_QUICK, EmbeddedPostgres
from sereno.deploy.postgres_binaries import find_binaries, reachable_for
from sereno.deploy.service_user import service_user
from sereno.mailbox.engine import bus
from tests.databases import Databases, describe

T = TypeVar("T")
# Its stdin ends when the process that started it does, in whatever way.
_WATCH = """
import contextlib, sys, psutil
server = psutil.Process(int(sys.argv[1]))
sys.stdin.read()
with contextlib.suppress(psutil.NoSuchProcess):
    server.send_signal(int(sys.argv[2]))
"""
TEMPLATE = "sereno_tests_template"
# A server of the environment is shared by all workers, so the roles need passwords on which all agree.
PASSWORDS = dict.fromkeys(database.ROLES, "for-tests-only")


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers: PostgreSQL's address for a superuser, NATS' address, and seeds where NATS asks for them."""

    postgres: str
    nats: str
    seeds: Mapping[str, str] = field(default_factory=dict)
    # Held while a test uses a NATS that other workers use too.
    lock: Path | None = None


@dataclass(frozen=True, slots=True)
class Engines:
    """A fresh, migrated database and empty streams."""

    dsn: str
    """For the superuser, who owns the schemas."""
    nats: str
    seeds: Mapping[str, str]

    @property
    def control_dsn(self) -> str:
        """For role `sereno_control`."""
        return self._login(database.CONTROL)

    @property
    def execution_dsn(self) -> str:
        """For role `sereno_execution`, which owns what the mailbox and the execution plane keep."""
        return self._login(database.EXECUTION)

    @property
    def worker_dsn(self) -> str:
        """For role `sereno_worker`."""
        return self._login(database.WORKER)

    def _login(self, role: str) -> str:
        return database.with_login(self.dsn, role, PASSWORDS[role])

    def seed(self, process: str) -> str | None:
        """The nkey seed of a process (`operator`, `control`, `gateway`, `listeners`, `pipeline`), if NATS wants one."""
        return self.seeds.get(process)


def run_apart(work: Callable[[], Coroutine[object, object, T]]) -> T:
    """The result of a coroutine on a loop of its own, out of the way of the test's loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


@contextlib.contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Servers for one session of one worker; `folder` is where embedded ones live."""
    with contextlib.ExitStack() as stack:
        postgres = os.environ.get("SERENO_TEST_POSTGRES")
        nats = os.environ.get("SERENO_TEST_NATS")
        docker = None in (postgres, nats) and _docker_answers()
        if postgres is None:
            postgres = stack.enter_context(_container_postgres() if docker else embedded_postgres(folder))
        if nats is not None:
            shared = Path(tempfile.gettempdir(), f"sereno-tests-nats-{os.getuid()}.lock")
            yield Servers(postgres, nats, {}, shared)
        elif docker:
            yield Servers(postgres, stack.enter_context(_container_nats()))
        else:
            seeds = {name: nats_identities.new_seed() for name in nats_identities.PERMISSIONS}
            yield Servers(postgres, stack.enter_context(embedded_nats(folder, seeds)), seeds)


@contextlib.contextmanager
def embedded_postgres(
    folder: Path, *, durable: bool = False, major: int | None = None, password: str | None = None
) -> Iterator[str]:
    """The superuser's DSN of a server of our own; without `durable` no test may kill it.

    A folder that holds one already is used again, by the `password` with which it was made.
    """
    user = service_user()
    with tempfile.TemporaryDirectory(prefix="sereno-tests-", ignore_cleanup_errors=True) as cache:
        Path(cache).chmod(0o755)
        server = EmbeddedPostgres(
            home=folder / "postgres",
            binaries=reachable_for(find_binaries(major=major), user, Path(cache) / "programs"),
            password=password or secrets.token_urlsafe(24),
            log_file=folder / "postgres.log",
            settings={} if durable else UNSAFE_BUT_QUICK,
            durable_init=durable,
            user=user,
        )
        server.initialise()
        server.start()
        try:
            with _ended_with_us(server.process, signal.SIGINT):
                yield server.dsn()
        finally:
            server.stop()


@contextlib.contextmanager
def embedded_nats(folder: Path, seeds: Mapping[str, str], *, durable: bool = False) -> Iterator[str]:
    """The URL of a server of our own with one user per seed."""
    server = EmbeddedNats(folder / "nats", seeds, folder / "nats.log", durable=durable)
    server.start()
    try:
        with _ended_with_us(server.process, signal.SIGTERM):
            yield server.url
    finally:
        server.stop()


@contextlib.contextmanager
def _ended_with_us(server: "subprocess.Popen[bytes] | None", how: signal.Signals) -> Iterator[None]:
    """Have the server ended also when this process is killed before it can."""
    assert server is not None
    watcher = subprocess.Popen(
        [sys.executable, "-c", _WATCH, str(server.pid), str(how.value)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield
    finally:
        server.send_signal(how)
        server.wait()
        watcher.communicate()


def _docker_answers() -> bool:
    from testcontainers.core.docker_client import DockerClient

    try:
        return bool(DockerClient(timeout=2).client.ping())
    except Exception:  # noqa: BLE001 - whatever the client raises, there is no engine to use
        return False


@contextlib.contextmanager
def _container_postgres() -> Iterator[str]:
    from testcontainers.postgres import PostgresContainer

    with PostgresContainer("postgres:18-alpine", driver=None) as container:
        yield container.get_connection_url()


@contextlib.contextmanager
def _container_nats() -> Iterator[str]:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    image = DockerContainer("nats:2.12-alpine", command="--jetstream").with_exposed_ports(4222)
    with image.waiting_for(LogMessageWaitStrategy("Server is ready")) as container:
        yield f"nats://{container.get_container_host_ip()}:{container.get_exposed_port(4222)}"


@contextlib.contextmanager
def databases(running: Servers) -> Iterator[Databases]:
    """Migrate once a session into a template, of which each test gets a copy."""

    async def work() -> Databases:
        await database.create_roles(running.postgres, PASSWORDS)
        await database.prepare(await database.create_database(running.postgres, template_name()))
        return Databases(running.postgres, await describe(running.postgres, template_name()))

    made = run_apart(work)
    try:
        yield made
    finally:
        run_apart(made.drop_all)


@contextlib.contextmanager
def fresh(running: Servers, copies: Databases) -> Iterator[Engines]:
    """A database of its own with all schemas, and streams without a message."""
    with contextlib.ExitStack() as stack:
        if running.lock is not None:
            stack.enter_context(_held(running.lock))

        async def take() -> str:
            await _empty_streams(running)
            return await copies.take()

        name = run_apart(take)
        stack.callback(copies.give_back, name)
        yield Engines(database.with_database(running.postgres, name), running.nats, running.seeds)


@contextlib.contextmanager
def _held(lock: Path) -> Iterator[None]:
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def template_name() -> str:
    """The template of this worker: a server of the environment is shared by all workers."""
    return f"{TEMPLATE}_{os.getpid()}"


async def _empty_streams(running: Servers) -> None:
    client = await bus.connect(running.nats, name="tests", seed=running.seeds.get(nats_identities.OPERATOR))
    try:
        jetstream = client.jetstream()
        for stream in await jetstream.streams_info():
            if stream.state.last_seq or stream.state.consumer_count:
                await jetstream.delete_stream(str(stream.config.name))
        await bus.ensure_streams(jetstream)
    finally:
        await client.close()
