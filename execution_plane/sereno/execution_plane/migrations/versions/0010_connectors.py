"""Poll connected sources: servers and their tools, what is asked of them, and which items are known."""

from pathlib import Path

from alembic import op

revision = "0010_connectors"
down_revision = "0012_stops"
branch_labels = None
depends_on = None

_TABLES = ("mcp_item", "mcp_reader", "mcp_reading", "mcp_source", "mcp_slot", "mcp_tool", "connector")


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver prepares each statement, so it takes one at a time.
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    for table in _TABLES:
        op.execute(f"drop table execution.{table}")
