"""Count storms in exact windows, and keep what rows that are forgotten had counted."""

from pathlib import Path

from alembic import op

revision = "0014_guards"
down_revision = "0010_connectors"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    op.execute("drop table execution.filtered_out")
    op.execute("drop table execution.opening")
    op.execute("alter table execution.batch drop column delivered_at")
    op.execute("alter table execution.subscription_state drop constraint subscription_state_arrivals")
    op.execute("update execution.subscription_state set arrivals = null where arrivals is not null")
    op.execute("delete from execution.subject_state")
    for column in ("arrivals", "turns"):
        op.execute(f"alter table execution.subject_state drop constraint subject_state_{column}")
        op.execute(
            f"alter table execution.subject_state add constraint subject_state_{column} check (cardinality({column}) = 4)"
        )
    op.execute(
        "alter table execution.subscription_state"
        " add constraint subscription_state_arrivals check (cardinality(arrivals) = 4)"
    )
