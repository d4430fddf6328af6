"""The tables of a plane's chains, for the migrations of that plane."""

from collections.abc import Iterator

from sereno.mailbox.engine import queries

TABLES = ("audit_anchor", "audit_salt", "audit_record", "audit_head")
"""In the order in which they can be dropped."""


def tables(schema: str) -> Iterator[str]:
    """The statements that make chains of which nothing can be changed, one at a time."""
    yield from _sql(schema, "tables").split(";\n")
    yield _sql(schema, "refuse_change")
    yield _sql(schema, "append_only")


def appending(schema: str) -> Iterator[str]:
    """Those that let them be appended to in one round trip, and anchor the other plane's."""
    yield _sql(schema, "anchor")
    yield _sql(schema, "room")
    yield _sql(schema, "append")


def _sql(schema: str, name: str) -> str:
    return queries.load("sereno.mailbox.audit", "ddl.sql")[name].format(schema=schema)
