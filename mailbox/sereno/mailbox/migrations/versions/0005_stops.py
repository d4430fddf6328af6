"""Stops of connectors and families of sources, known by an id; what was left for a person to decide when one ended."""

import re
from pathlib import Path

from alembic import op

from sereno.mailbox.migrations import replay
from sereno.mailbox.migrations.replay import STOP_SCOPES

revision = "0005_stops"
down_revision = "0004_fewer_rows"
branch_labels = None
depends_on = None

# Up to a semicolon that stands neither in a comment nor in the body of a function.
_STATEMENT = re.compile(r"(?:--[^\n]*\n|\$\$.*?\$\$|[^;])+;", re.DOTALL)


def upgrade() -> None:
    for statement in _STATEMENT.findall(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")):
        op.execute(statement)


def downgrade() -> None:
    # The revision before knows neither connectors nor families, nor a backlog that waits for a person: what these
    # cover stands still as a whole, until a person ends that.
    op.execute(
        """
        insert into mailbox.stop (scope, reason, principal, engaged_at)
        select distinct on (wide.scope) wide.scope, old.reason, old.principal, old.at
        from (
            select scope, reason, principal, engaged_at as at from mailbox.stop
            union all
            select scope, reason, principal, ended_at from mailbox.stop_review
        ) old
        cross join lateral (
            select case
                when old.scope like '%/connector/%' or old.scope like '%/family/%' then split_part(old.scope, '/', 1)
                else old.scope
            end as scope
        ) wide
        order by wide.scope, old.at
        on conflict do nothing
        """
    )
    op.execute("delete from mailbox.stop where scope like '%/connector/%' or scope like '%/family/%'")
    op.execute("drop table mailbox.stop_review")
    op.execute("alter table mailbox.stop drop column id")
    scripts = (
        "0001_functions.sql",
        "0001_partitions.sql",
        *STOP_SCOPES,
        "0003_round_trips.sql",
        "0004_fewer_rows.sql",
    )
    replay.functions(scripts)
