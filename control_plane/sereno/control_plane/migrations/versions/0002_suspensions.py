"""Suspensions as the execution plane reports them, and who lifted them."""

from pathlib import Path

from alembic import op

revision = "0002_suspensions"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    op.execute("drop table control.suspension")
