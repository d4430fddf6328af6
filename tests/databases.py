"""Databases of the tests: a few copies of one migrated template, put back to its state before each use.

Emptying what a test has filled costs a tenth of copying the template anew. What it changed otherwise than by rows, a
table or a privilege say, is noticed, and the copy thrown away.
"""

import io
import secrets
from dataclasses import dataclass, field
from typing import TypeAlias

import asyncpg

from sereno.deploy import database

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_SCHEMAS = "('pg_catalog', 'information_schema', 'pg_toast')"
# The objects keep their ids in each copy.
_SHAPE = f"""
with own as (
  select c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname not in {_SCHEMAS}
), part (line) as (
  select concat_ws(' ', 'class', oid, relname, relkind, relowner, relacl, reloptions) from own
  union all
  select concat_ws(' ', 'column', attrelid, attnum, attname, atttypid, attnotnull, atthasdef, attacl)
  from pg_attribute where attrelid in (select oid from own)
  union all
  select concat_ws(' ', 'constraint', oid, conname) from pg_constraint where connamespace in (select relnamespace from own)
  union all
  select concat_ws(' ', 'trigger', oid, tgenabled) from pg_trigger where tgrelid in (select oid from own)
  union all
  select concat_ws(' ', 'schema', oid, nspname, nspacl) from pg_namespace where nspname not like 'pg_%'
  union all
  select concat_ws(' ', 'function', p.oid, md5(prosrc), proacl)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname not in {_SCHEMAS}
)
select md5(string_agg(line, e'\\n' order by line)) from part
"""
_TABLES = f"""
select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in {_SCHEMAS} order by 1
"""
_USED_SEQUENCES = """
select format('%I.%I', schemaname, sequencename) from pg_sequences where last_value is not null
"""
# Whoever the last test left connected; each is waited for.
_END_OTHERS = """
select pg_terminate_backend(pid, 30000) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
"""


@dataclass(frozen=True, slots=True)
class Template:
    """What each test finds: the shape of the schemas, the tables, and the rows that the migrations themselves write."""

    name: str
    shape: str
    tables: tuple[str, ...]
    rows: dict[str, tuple[str, bytes]]
    """By table: a digest of its rows, and the rows as COPY writes them."""


@dataclass(slots=True)
class Databases:
    """The copies on one server; `dsn` is its superuser's. One session's, never shared between processes."""

    dsn: str
    template: Template
    idle: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    async def take(self) -> str:
        """The name of a database that is as the migrations left it."""
        while self.idle:
            name = self.idle.pop()
            if await self._put_back(name):
                return name
            await self._drop(name)
        name = f"sereno_test_{secrets.token_hex(6)}"
        await database.create_database(self.dsn, name, template=self.template.name)
        self.made.append(name)
        return name

    def give_back(self, name: str) -> None:
        """It is cleaned when it is next taken, so that the last one is not cleaned for nobody."""
        self.idle.append(name)

    async def drop_all(self) -> None:
        """Leave nothing on a server that outlives the session."""
        for name in (*self.made, self.template.name):
            await self._drop(name)

    async def _drop(self, name: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        finally:
            await connection.close()

    async def _put_back(self, name: str) -> bool:
        """Make the rows those of the template; whether everything else is as it is there."""
        connection = await asyncpg.connect(database.with_database(self.dsn, name))
        try:
            await connection.execute(_END_OTHERS)
            if await connection.fetchval(_SHAPE) != self.template.shape:
                return False
            async with connection.transaction():
                # Tables that only grow have triggers which forbid what follows.
                await connection.execute("set local session_replication_role = replica")
                await self._empty(connection)
                await self._fill(connection)
        finally:
            await connection.close()
        return True

    async def _empty(self, connection: Connection) -> None:
        tables = [table for table in self.template.tables if table not in self.template.rows]
        if filled := await _filled(connection, tables):
            await connection.execute(f"truncate {', '.join(filled)} restart identity cascade")
        for row in await connection.fetch(_USED_SEQUENCES):
            await connection.execute(f"alter sequence {row[0]} restart")
        # What ANALYZE counted would steer the plans of the next test.
        await connection.execute("delete from pg_statistic where starelid >= 16384")

    async def _fill(self, connection: Connection) -> None:
        for table, (digest, rows) in self.template.rows.items():
            if await _digest(connection, table) != digest:
                await connection.execute(f"delete from {table}")
                await _copy_in(connection, table, rows)


async def describe(dsn: str, name: str) -> Template:
    """The template of this name on the server of `dsn`, its superuser's."""
    connection = await asyncpg.connect(database.with_database(dsn, name))
    try:
        tables = [row[0] for row in await connection.fetch(_TABLES)]
        rows = {
            table: (await _digest(connection, table), await _copy_out(connection, table))
            for table in await _filled(connection, tables)
        }
        return Template(name, await connection.fetchval(_SHAPE), tuple(tables), rows)
    finally:
        await connection.close()


async def _filled(connection: Connection, tables: list[str]) -> list[str]:
    asked = " union all ".join(f"select '{table}' where exists (select from {table})" for table in tables)
    return [row[0] for row in await connection.fetch(asked)]


async def _digest(connection: Connection, table: str) -> str:
    digest: str = await connection.fetchval(
        f"select md5(string_agg(t::text, e'\\n' order by t::text)) from {table} t"
    )
    return digest


async def _copy_out(connection: Connection, table: str) -> bytes:
    rows = io.BytesIO()
    await connection.copy_from_query(f"select * from {table}", output=rows)
    return rows.getvalue()


async def _copy_in(connection: Connection, table: str, rows: bytes) -> None:
    schema, _, name = table.partition(".")
    await connection.copy_to_table(name, schema_name=schema, source=io.BytesIO(rows))
