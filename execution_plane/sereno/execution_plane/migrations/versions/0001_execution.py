"""Create what the execution plane keeps: receipts, verdicts, guard state, catalog, schedules, outbox."""

from pathlib import Path

from alembic import op

from sereno.mailbox.engine import outbox
from sereno.mailbox.engine.migrate import empty

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8") + outbox.ddl("execution")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    empty("execution")
