"""What becomes of what a stop held, once a person has said so."""

from alembic import op

revision = "0012_stops"
down_revision = "0011_labels"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "alter table execution.held add column choice text"
        " constraint held_choice check (choice in ('deliver', 'drop'))"
    )


def downgrade() -> None:
    op.execute("alter table execution.held drop column choice")
