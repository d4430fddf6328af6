"""Stops of connectors and families of sources, known by an id; what was left for a person to decide when one ended."""

import re
from pathlib import Path

from alembic import op

revision = "0005_stops"
down_revision = "0004_fewer_rows"
branch_labels = None
depends_on = None

# Up to a semicolon that stands neither in a comment nor in the body of a function.
_STATEMENT = re.compile(r"(?:--[^\n]*\n|\$\$.*?\$\$|[^;])+;", re.DOTALL)


def upgrade() -> None:
    for statement in _STATEMENT.findall(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")):
        op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("the stops of the new scopes would be lost; restore a back-up instead")
