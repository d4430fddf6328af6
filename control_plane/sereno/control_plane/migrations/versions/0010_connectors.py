"""Connectors among the catalog's objects."""

from alembic import op

revision = "0010_connectors"
down_revision = "0007_audit"
branch_labels = None
depends_on = None

_KINDS = "'Tenant', 'Agent', 'Endpoint', 'Token', 'Subscription', 'Principal', 'Grant', 'Policy'"


def upgrade() -> None:
    _allow(f"{_KINDS}, 'Connector'")


def downgrade() -> None:
    # The events stay: a later upgrade rebuilds what is removed here.
    op.execute("delete from control.catalog_object where kind = 'Connector'")
    _allow(_KINDS)


def _allow(kinds: str) -> None:
    op.execute("alter table control.catalog_object drop constraint catalog_object_kind_check")
    op.execute(
        f"alter table control.catalog_object add constraint catalog_object_kind_check check (kind in ({kinds}))"
    )
