"""Follow calendars: what a subscription reads, what it read last, and each wake-up that was or is to come."""

from pathlib import Path

from alembic import op

revision = "0007_calendars"
down_revision = "0006_guards"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    op.execute("drop table execution.calendar_instant, execution.calendar_resource, execution.calendar")
