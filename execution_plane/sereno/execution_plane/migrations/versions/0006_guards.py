"""Let all seven guards remember: storms, budgets, batches, suspensions, what is held, and what waits to be judged."""

from pathlib import Path

from alembic import op

revision = "0006_guards"
down_revision = "0005_large_data"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    script = Path(__file__).with_name("0006_guards_down.sql").read_text(encoding="utf-8")
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)
