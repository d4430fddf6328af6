"""What people are told, through which sinks it was sent, and the links by which they answered."""

from pathlib import Path

from alembic import op

revision = "0006_notices"
down_revision = "0007_audit"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    for table in ("used_link", "notice_delivery", "notice_sink", "notice"):
        op.execute(f"drop table control.{table}")
