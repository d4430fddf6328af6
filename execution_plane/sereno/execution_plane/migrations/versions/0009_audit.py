"""The audit chain of the execution plane, and what its sequencer reads."""

from pathlib import Path

from alembic import op

from sereno.mailbox.audit import ddl

revision = "0009_audit"
down_revision = "0008_egress"
branch_labels = None
depends_on = None


def upgrade() -> None:
    own = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n")
    for statement in (*ddl.tables("execution"), *ddl.appending("execution"), *own):
        op.execute(statement)


def downgrade() -> None:
    op.execute("drop table execution.audit_cursor")
    op.execute("alter table execution.verdict drop column xid")
    op.execute("drop function execution.audit_append(text, bytea[], bytea[])")
    for table in ddl.TABLES:
        op.execute(f"drop table execution.{table}")
    op.execute("drop function execution.refuse_audit_change()")
