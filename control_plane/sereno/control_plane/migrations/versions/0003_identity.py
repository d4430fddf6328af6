"""Principals, grants and policies among the catalog's objects, and when a token was used last."""

from pathlib import Path

from alembic import op

revision = "0003_identity"
down_revision = "0002_suspensions"
branch_labels = None
depends_on = None

_KINDS = "'Tenant', 'Agent', 'Endpoint', 'Token', 'Subscription'"


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    op.execute("drop table control.token_use")
    op.execute("alter table control.catalog_object drop constraint catalog_object_kind_check")
    # The events stay: a later upgrade rebuilds what is removed here.
    op.execute(f"delete from control.catalog_object where kind not in ({_KINDS})")
    op.execute(
        f"alter table control.catalog_object add constraint catalog_object_kind_check check (kind in ({_KINDS}))"
    )
