"""Whether a database has all migrations, found out without loading what would run them (a second at each start)."""

import re
from collections.abc import Sequence
from importlib.resources import files

import asyncpg

from sereno.mailbox.engine import queries
from sereno.mailbox.engine.migrate import History

_REVISION = re.compile(r'^revision\s*(?::[^=]+)?=\s*["\'](?P<id>[^"\']+)', re.MULTILINE)
_PARENT = re.compile(r'^down_revision\s*(?::[^=]+)?=\s*["\'](?P<id>[^"\']+)', re.MULTILINE)


def heads(package: str) -> set[str]:
    """The revisions of a history on which no other builds."""
    scripts = [
        entry.read_text(encoding="utf-8")
        for entry in files(package).joinpath("versions").iterdir()
        if entry.name.endswith(".py") and entry.name != "__init__.py"
    ]
    revisions = {match["id"] for script in scripts if (match := _REVISION.search(script))}
    parents = {match["id"] for script in scripts if (match := _PARENT.search(script))}
    return revisions - parents


async def is_current(connection: "asyncpg.Connection[asyncpg.Record]", histories: Sequence[History]) -> bool:
    """Whether each schema stands at the head of its history."""
    statement = queries.load("sereno.deploy", "database.sql")["revision"]
    for history in histories:
        table = f"{history.schema}.alembic_version"
        if await connection.fetchval("SELECT to_regclass($1)", table) is None:
            return False
        rows = await connection.fetch(statement.format(schema=history.schema))
        if {row["version_num"] for row in rows} != heads(history.package):
            return False
    return True
