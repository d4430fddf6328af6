"""The server of a benchmark: a PostgreSQL of its own with fsync on, one database a contender."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from sereno.deploy import database
from tests.engines import PASSWORDS, embedded_postgres

SETTINGS = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers")


@contextlib.contextmanager
def durable_postgres() -> Iterator[str]:
    """The superuser's DSN of a fresh server that keeps its promises."""
    with tempfile.TemporaryDirectory(prefix="sereno-bench-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with embedded_postgres(Path(folder), durable=True) as dsn:
            yield dsn


async def prepare(dsn: str) -> str:
    """Make the roles; what the server says of itself."""
    await database.create_roles(dsn, PASSWORDS)
    connection = await asyncpg.connect(dsn)
    try:
        version = await connection.fetchval("show server_version")
        shown = [f"{name}={await connection.fetchval(f'show {name}')}" for name in SETTINGS]
    finally:
        await connection.close()
    return f"PostgreSQL {version}, {', '.join(shown)}"


async def new_database(dsn: str, name: str) -> str:
    """An empty database; its address."""
    return await database.create_database(dsn, name)
