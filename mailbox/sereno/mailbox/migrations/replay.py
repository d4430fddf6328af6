"""Going back: the functions of an earlier revision are those that its scripts made, so they are made by them again."""

import re
from collections.abc import Sequence
from pathlib import Path

from alembic import op

VERSIONS = Path(__file__).parent / "versions"
# Up to a semicolon that stands neither in a comment nor in the body of a function.
STATEMENT = re.compile(r"(?:--[^\n]*\n|\$\$.*?\$\$|[^;])+;", re.DOTALL)
_OF_A_FUNCTION = re.compile(r"(?:--[^\n]*\n|\s)*(create(?: or replace)?|drop) function ", re.IGNORECASE)


# The caller's transaction holds the lock until it ends, so a stop that returned lets nothing through: the lock
# first, then the rows with a snapshot taken after it (mechanics 24).
STOP_SCOPES = (
    "drop function mailbox.stopped(text[])",
    """
create function mailbox.stop_scopes(p_tenants text[]) returns setof text language plpgsql volatile as $$
begin
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    return query
        select s.scope from mailbox.stop s
        where s.scope = '*' or split_part(s.scope, '/', 1) = any(p_tenants);
end
$$
""",
)
"""What revision 0002 does to the functions."""


def statements(script: str) -> list[str]:
    """The statements of a script of this part; the driver prepares each, so it takes one at a time."""
    return STATEMENT.findall((VERSIONS / script).read_text(encoding="utf-8"))


def functions(scripts: Sequence[str]) -> None:
    """Make the functions of `mailbox` be those that these scripts leave, each the name of a file or a statement."""
    op.execute(
        """
        do $$
        declare known regprocedure;
        begin
            for known in select oid from pg_proc where pronamespace = 'mailbox'::regnamespace loop
                execute format('drop function %s', known);
            end loop;
        end $$
        """
    )
    for script in scripts:
        for statement in statements(script) if script.endswith(".sql") else [script]:
            if _OF_A_FUNCTION.match(statement):
                op.execute(statement)
