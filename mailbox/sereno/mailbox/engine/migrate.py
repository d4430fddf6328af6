"""Alembic histories of the parts, each in a package of its own and with its version table in its schema."""

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from sereno.mailbox.engine import queries

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


@dataclass(frozen=True, slots=True)
class History:
    """One part's migrations: the package that holds `env.py` and `versions/`, and the schema they make."""

    package: str
    schema: str


def sqlalchemy_url(dsn: str) -> str:
    """The same address as a URL for SQLAlchemy's asyncpg dialect."""
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(scheme="postgresql+asyncpg"))


async def upgrade(dsn: str, *histories: History, revision: str = "head") -> None:
    """Bring each history to `revision`, in the given order, one transaction a history."""
    # Loaded here: many import this module for the names in it, and only who migrates needs the library.
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415
    from sqlalchemy.pool import NullPool  # noqa: PLC0415

    engine = create_async_engine(sqlalchemy_url(dsn), poolclass=NullPool)
    try:
        for history in histories:
            async with engine.begin() as connection:
                await connection.run_sync(_upgrade, history, revision)
    finally:
        await engine.dispose()


async def downgrade(dsn: str, history: History, revision: str) -> None:
    """Take one history back to `revision` (`base`: to nothing), in one transaction."""
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415
    from sqlalchemy.pool import NullPool  # noqa: PLC0415

    engine = create_async_engine(sqlalchemy_url(dsn), poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_downgrade, history, revision)
    finally:
        await engine.dispose()


def _upgrade(connection: "Connection", history: History, revision: str) -> None:
    _run(connection, history, "upgrade", revision)


def _downgrade(connection: "Connection", history: History, revision: str) -> None:
    _run(connection, history, "downgrade", revision)


def _run(connection: "Connection", history: History, direction: str, revision: str) -> None:
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from sqlalchemy import text  # noqa: PLC0415

    # Two processes that migrate at once must not both run a revision.
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('sereno.migrate'))"))
    connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{history.schema}"'))
    with as_file(files(history.package)) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.attributes["connection"] = connection
        config.attributes["schema"] = history.schema
        {"upgrade": command.upgrade, "downgrade": command.downgrade}[direction](config, revision)


def empty(schema: str) -> None:
    """What the first revision of a history goes back to: nothing in its schema but the version table."""
    from alembic import op  # noqa: PLC0415 - the proxy exists only while Alembic runs a revision

    op.execute(queries.load("sereno.mailbox.engine", "migrate.sql")["empty"].format(schema=schema))


def run_environment() -> None:
    """What each history's `env.py` calls: run its revisions on the connection handed over by `upgrade`."""
    from alembic import context  # noqa: PLC0415 - the proxy exists only while Alembic runs an env.py

    attributes = context.config.attributes
    context.configure(
        connection=attributes["connection"],
        version_table_schema=attributes["schema"],
        target_metadata=None,
        transactional_ddl=True,
    )
    context.run_migrations()
