"""Create what the execution plane keeps: receipts, verdicts, guard state, catalog, schedules, outbox."""

from pathlib import Path

from alembic import op

from sereno.mailbox.engine import outbox

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text().split(";\n"):
        if statement.strip():
            op.execute(statement)
    op.execute(outbox.ddl("execution"))


def downgrade() -> None:
    raise NotImplementedError("the first revision has nothing to go back to; drop the schema instead")
