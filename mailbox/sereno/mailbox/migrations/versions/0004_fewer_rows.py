"""Claims and deposits that touch fewer rows, and one order in which rows are locked."""

import re
from pathlib import Path

from alembic import op

from sereno.mailbox.migrations import replay
from sereno.mailbox.migrations.replay import STOP_SCOPES

revision = "0004_fewer_rows"
down_revision = "0003_round_trips"
branch_labels = None
depends_on = None

# Up to a semicolon that stands neither in a comment nor in the body of a function.
_STATEMENT = re.compile(r"(?:--[^\n]*\n|\$\$.*?\$\$|[^;])+;", re.DOTALL)


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in _STATEMENT.findall(script):
        op.execute(statement)


def downgrade() -> None:
    for statement in replay.statements("0004_fewer_rows_down.sql"):
        op.execute(statement)
    replay.functions(["0001_functions.sql", "0001_partitions.sql", *STOP_SCOPES, "0003_round_trips.sql"])
