"""Keep tests of conditions, labels of verdicts, and by whom a criterion is judged."""

from pathlib import Path

from alembic import op

revision = "0011_labels"
down_revision = "0009_audit"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    op.execute("drop index execution.egress_by_age")
    for table in ("criterion", "label", "condition_test"):
        op.execute(f"drop table execution.{table}")
