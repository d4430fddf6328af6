"""What waits for a person's word, and what became of it."""

from pathlib import Path

from alembic import op

revision = "0004_approval"
down_revision = "0003_identity"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    op.execute("drop table control.approval")
