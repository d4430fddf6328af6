"""Derive schedules one by one, hold them, and tell by which version of a subscription an instant was due."""

from pathlib import Path

from alembic import op

revision = "0004_schedules"
down_revision = "0003_held"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    script = Path(__file__).with_name("0004_schedules_down.sql").read_text(encoding="utf-8")
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)
