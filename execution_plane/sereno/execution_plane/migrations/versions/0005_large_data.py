"""Keep data that is too large for an envelope."""

from pathlib import Path

from alembic import op

revision = "0005_large_data"
down_revision = "0004_schedules"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    # What envelopes refer to is gone then: their references answer as those of data that was forgotten.
    op.execute("drop table execution.large_data")
