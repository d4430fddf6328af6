"""Keep a record of every call of a model."""

from pathlib import Path

from alembic import op

revision = "0008_egress"
down_revision = "0007_calendars"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    op.execute("drop table execution.egress")
