"""The audit chain of each tenant: appended with what it records, never changed."""

from pathlib import Path

from alembic import op

revision = "0005_audit"
down_revision = "0004_approval"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    for table in ("audit_salt", "audit_record", "audit_head"):
        op.execute(f"drop table control.{table}")
    op.execute("drop function control.refuse_audit_change()")
