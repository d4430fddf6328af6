"""The engines of an installation: embedded ones that we start, or existing ones that must answer."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nats.errors import NoRespondersError
from nats.js.errors import APIError

from sereno.deploy import database, passfile
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.embedded_nats import EmbeddedNats
from sereno.deploy.embedded_postgres import EmbeddedPostgres
from sereno.deploy.faults import StartError
from sereno.deploy.identities import Identities
from sereno.deploy.options import Options
from sereno.deploy.postgres_binaries import OLDEST, find_binaries, reachable_for
from sereno.deploy.service_user import service_user
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine import bus, postgres, queries
from sereno.mailbox.engine.postgres import DatabaseUnreachableError

OLDEST_NATS = (2, 12)
ANSWER_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the engines are, for the owner of the installation, and those that we run ourselves."""

    postgres: str
    """DSN of the owner, without the password: that stands in a file it names."""
    nats: str
    seeds: bool
    """Whether NATS knows one user per process; an existing one is used as its URL says."""
    owned: tuple[EmbeddedPostgres | EmbeddedNats, ...]


@contextlib.contextmanager
def running(
    folder: DataFolder, identities: Identities, options: Options, programs: Path
) -> Iterator[Servers]:
    """The engines, started where none are given; ours are stopped at the end, NATS first. Raises `StartError`.

    `programs` is where a copy of PostgreSQL's programs goes when its account cannot reach them where they are.
    """
    owned: list[EmbeddedPostgres | EmbeddedNats] = []
    with contextlib.ExitStack() as stack:
        given = options.postgres.get_secret_value()
        if not given:
            server = _postgres(folder, identities, programs)
            stack.callback(server.stop)
            server.start()
            owned.append(server)
            given = server.dsn(database.NAME)
        nats = options.nats
        if not nats:
            bus_server = EmbeddedNats(folder.nats, identities.seeds, folder.log("nats"))
            stack.callback(bus_server.stop)
            bus_server.start()
            owned.append(bus_server)
            nats = bus_server.url
        owner = passfile.without_password(given, folder.secrets / "pgpass")
        yield Servers(owner, nats, not options.nats, tuple(owned))


def _postgres(folder: DataFolder, identities: Identities, programs: Path) -> EmbeddedPostgres:
    user = service_user()
    server = EmbeddedPostgres(
        home=folder.postgres,
        binaries=reachable_for(find_binaries(), user, programs),
        password=identities.superuser_password,
        log_file=folder.log("postgres"),
        user=user,
    )
    server.initialise()
    return server


async def prepare(servers: Servers, identities: Identities, seed: str | None) -> None:
    """Database, schemas, roles and streams as the planes expect them; `seed` is for NATS.

    Raises `StartError` or what does not answer.
    """
    if any(isinstance(server, EmbeddedPostgres) for server in servers.owned):
        await database.create_database(database.with_database(servers.postgres, "postgres"))
    await database.create_roles(servers.postgres, identities.role_passwords)
    await database.prepare(servers.postgres)
    await _prepare_nats(servers, seed)


async def check_given(options: Options) -> None:
    """Whether the existing engines answer and will do, before anything of ours is started.

    Raises `StartError` or what does not answer, within `ANSWER_SECONDS`.
    """
    async with asyncio.TaskGroup() as tasks:
        if options.dsn():
            passfile.parse(options.dsn())
            tasks.create_task(_check_postgres(options.dsn()))
        if options.nats:
            tasks.create_task(_check_nats(options.nats, options.nats_seed()))


async def _check_postgres(dsn: str) -> None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            connection = await postgres.connect(dsn, application_name="sereno-up")
    except TimeoutError:
        message = f"PostgreSQL at {postgres.address(dsn)} does not answer: no answer in time"
        raise DatabaseUnreachableError(message) from None
    try:
        version = connection.get_server_version().major
        allowed = await connection.fetchval(queries.load("sereno.deploy", "database.sql")["may_create_roles"])
    finally:
        await connection.close()
    where = postgres.address(dsn)
    if version < OLDEST:
        raise StartError(
            f"PostgreSQL at {where} is version {version}: {OLDEST} or newer is needed.", Exit.BAD_INPUT
        )
    if not allowed:
        raise StartError(
            f"The user of PostgreSQL at {where} may not create roles: give the DSN of one that may (CREATEROLE).",
            Exit.BAD_INPUT,
        )


async def _check_nats(url: str, seed: str | None) -> None:
    client = await bus.connect(url, name="sereno-up", seed=seed)
    try:
        version = client.connected_server_version
        if (version.major, version.minor) < OLDEST_NATS:
            raise StartError(
                f"NATS at {bus.address(url)} is version {version.major}.{version.minor}: 2.12 or newer is needed.",
                Exit.BAD_INPUT,
            )
        await client.jetstream().account_info()
    except (APIError, NoRespondersError) as fault:
        raise StartError(
            f"NATS at {bus.address(url)} has no JetStream: start it with --jetstream.", Exit.BAD_INPUT
        ) from fault
    finally:
        await client.close()


async def _prepare_nats(servers: Servers, seed: str | None) -> None:
    client = await bus.connect(servers.nats, name="sereno-up", seed=seed)
    try:
        await bus.ensure_streams(client.jetstream())
    except APIError as fault:
        raise StartError(
            f"NATS at {bus.address(servers.nats)} does not make the streams: {fault.description}"
        ) from fault
    finally:
        await client.close()
