"""What is held is found by its verdict, however many there are."""

from alembic import op

revision = "0003_held"
down_revision = "0002_deliveries"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "create index verdict_held on execution.verdict (reason, tenant_id, decided_at) where outcome = 'held'"
    )


def downgrade() -> None:
    op.execute("drop index execution.verdict_held")
