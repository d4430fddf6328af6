"""The chain is appended to in one round trip, and holds the ends of the execution plane's."""

from alembic import op

from sereno.mailbox.audit import ddl

revision = "0007_audit"
down_revision = "0005_audit"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in ddl.appending("control"):
        op.execute(statement)


def downgrade() -> None:
    op.execute("drop function control.audit_append(text, bytea[], bytea[])")
    op.execute("drop table control.audit_anchor")
    op.execute(
        "alter table control.audit_head reset (fillfactor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor)"
    )
