"""Make claim and acknowledgement cheaper, and both possible in one call."""

import re
from pathlib import Path

from alembic import op

from sereno.mailbox.migrations import replay
from sereno.mailbox.migrations.replay import STOP_SCOPES

revision = "0003_round_trips"
down_revision = "0002_stop_scopes"
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
    op.execute("drop index mailbox.work_token")
    op.execute("create unique index work_token on mailbox.work (token) where state = 'leased'")
    op.execute("alter table mailbox.work set (fillfactor = 70)")
    replay.functions(["0001_functions.sql", "0001_partitions.sql", *STOP_SCOPES])
