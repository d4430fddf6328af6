"""The database of an installation: its roles, its schemas, and who may read what."""

import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from sereno.deploy import schema_version
from sereno.deploy.scram import verifier
from sereno.mailbox.engine import postgres, queries
from sereno.mailbox.engine.migrate import History, upgrade

NAME = "sereno"
CONTROL, EXECUTION, WORKER = "sereno_control", "sereno_execution", "sereno_worker"
ROLES = (CONTROL, EXECUTION, WORKER)
HISTORIES = (
    History("sereno.mailbox.migrations", "mailbox"),
    History("sereno.execution_plane.migrations", "execution"),
    History("sereno.control_plane.migrations", "control"),
)
# Neither plane reads the other's tables; the mailbox belongs to the execution plane.
_SCHEMAS = {"control": CONTROL, "execution": EXECUTION, "mailbox": EXECUTION}
_APPLICATION = "sereno-deploy"


def with_login(dsn: str, user: str, password: str) -> str:
    """The same database for another user."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@{host}"))


def with_database(dsn: str, database: str) -> str:
    """Another database of the same server."""
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{database}"))


async def create_roles(dsn: str, passwords: Mapping[str, str]) -> None:
    """Make the roles, or give them these passwords; the roles belong to the whole server."""
    connection = await postgres.connect(dsn, application_name=_APPLICATION)
    try:
        async with connection.transaction():
            await connection.execute(_sql("lock_roles"))
            for role, password in passwords.items():
                await _run(connection, "create_role", role)
                await _run(connection, "set_password", role, verifier(password, secrets.token_bytes(16)))
                await _run(connection, "limit_transactions", role)
    finally:
        await connection.close()


async def create_database(dsn: str, name: str = NAME, *, template: str = "template0") -> str:
    """Make a database on the server of `dsn` unless it exists; its address for the same user."""
    connection = await postgres.connect(dsn, application_name=_APPLICATION)
    try:
        await _run(connection, "create_database", name, template)
    finally:
        await connection.close()
    return with_database(dsn, name)


async def prepare(dsn: str, histories: Sequence[History] = HISTORIES) -> None:
    """Bring the schemas up to date and grant each role its own, and nothing else."""
    connection = await postgres.connect(dsn, application_name=_APPLICATION)
    try:
        if not await schema_version.is_current(connection, histories):
            await upgrade(dsn, *histories)
        async with connection.transaction():
            await connection.execute(_sql("lock_roles"))
            await _run(connection, "close_database")
            for history in histories:
                await _run(connection, "open_schema", history.schema, _SCHEMAS[history.schema])
            # What happened is appended to, and changed by nobody: by right, and by triggers besides.
            for schema in ("control", "execution"):
                await _run(connection, "close_logs", _SCHEMAS[schema], schema)
            await _run(connection, "open_to_worker")
    finally:
        await connection.close()


def _sql(name: str) -> str:
    return queries.load("sereno.deploy", "database.sql")[name]


async def _run(connection: "asyncpg.Connection[asyncpg.Record]", name: str, *arguments: str) -> None:
    """Run the statements that the named query writes; names and passwords cannot be parameters of DDL."""
    for row in await connection.fetch(_sql(name), *arguments):
        await connection.execute(row[0])
