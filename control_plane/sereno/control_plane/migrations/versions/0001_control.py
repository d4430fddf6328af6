"""Create what the control plane keeps: event store, catalog, manifest heads, outbox, inbox of reports."""

from pathlib import Path

from alembic import op

from sereno.mailbox.engine import outbox

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    ddl = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8") + outbox.ddl("control")
    # The driver prepares each statement, and a prepared statement holds one command.
    for statement in ddl.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    for table in (
        "outbox",
        "inbox",
        "subscription_activity",
        "manifest_head",
        "endpoint_token",
        "catalog_object",
        "event",
    ):
        op.execute(f"drop table control.{table}")
    op.execute("drop function control.refuse_change()")
