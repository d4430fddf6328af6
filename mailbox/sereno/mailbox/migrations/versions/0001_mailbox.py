"""Create the mailbox: messages, work, the dead, event log, slots, notices, tokens, and its functions."""

import re
from pathlib import Path

from alembic import op

from sereno.mailbox.engine.migrate import empty

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Up to a semicolon that stands neither in a comment nor in the body of a function.
_STATEMENT = re.compile(r"(?:--[^\n]*\n|\$\$.*?\$\$|[^;])+;", re.DOTALL)


def upgrade() -> None:
    here = Path(__file__)
    for name in ("0001_mailbox.sql", "0001_functions.sql", "0001_partitions.sql"):
        script = here.with_name(name).read_text(encoding="utf-8")
        # The driver prepares each statement, so it takes one at a time.
        for statement in _STATEMENT.findall(script):
            op.execute(statement)


def downgrade() -> None:
    empty("mailbox")
