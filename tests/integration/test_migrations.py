"""Every revision of every part goes up and down: what a step back leaves is what stood before the step forward."""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from sereno.deploy import database
from sereno.mailbox.engine.migrate import History, downgrade, upgrade
from tests.engines import Servers
from tests.integration.migrations_content import CONTENT

# Names, not ids: a column that goes and comes back has another.
_SHAPE = """
with own as (
  select c.*, n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relname not like 'alembic%' and c.relname !~ '_[0-9]{8}'
)
select concat_ws(' ', relkind, relname, array(select unnest(reloptions) order by 1)) as line from own where relkind <> 'i'
union all
select concat_ws(' ', 'column', relname, attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid))
from own join pg_attribute on attrelid = own.oid and attnum > 0 and not attisdropped and relkind in ('r', 'p', 'v')
left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select concat_ws(' ', 'constraint', relname, conname, pg_get_constraintdef(k.oid)) from own join pg_constraint k on conrelid = own.oid
where contype <> 'n'
union all
select pg_get_indexdef(oid) from own where relkind in ('i', 'I')
union all
select concat_ws(' ', 'trigger', relname, tgname) from own join pg_trigger on tgrelid = own.oid and not tgisinternal
union all
select concat_ws(' ', 'function', p.proname, pg_get_function_identity_arguments(p.oid), md5(prosrc))
from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1
order by 1
"""


def revisions(history: History) -> list[str]:
    """From the first to the last."""
    with as_file(files(history.package)) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder))
        found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    return found[::-1]


async def shape(connection: Any, schema: str) -> list[str]:
    return [row["line"] for row in await connection.fetch(_SHAPE, schema)]


@pytest.mark.req(345)
@pytest.mark.parametrize("history", database.HISTORIES, ids=lambda history: history.schema)
async def test_each_revision_goes_up_and_down(servers: Servers, history: History, tmp_path: Path) -> None:
    name = f"sereno_migrations_{history.schema}"
    dsn = await database.create_database(servers.postgres, name)
    connection = await asyncpg.connect(dsn)
    try:
        steps = revisions(history)
        before = []
        # A part may stand on another: what comes first is there whole.
        for other in database.HISTORIES[: database.HISTORIES.index(history)]:
            await upgrade(dsn, other)
        for step in steps:
            before.append(await shape(connection, history.schema))
            await upgrade(dsn, history, revision=step)
        whole = await shape(connection, history.schema)
        for statement in CONTENT.get(history.schema, ()):
            await connection.execute(statement)
        for place in reversed(range(len(steps))):
            await downgrade(dsn, history, steps[place - 1] if place else "base")
            assert await shape(connection, history.schema) == before[place], f"back from {steps[place]}"
        await upgrade(dsn, history)
        assert await shape(connection, history.schema) == whole, "and up again"
    finally:
        await connection.close()
        admin = await asyncpg.connect(servers.postgres)
        await admin.execute(f'drop database "{name}" with (force)')
        await admin.close()
