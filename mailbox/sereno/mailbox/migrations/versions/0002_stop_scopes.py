"""A stop has a scope: everything, a tenant, an agent or a subscription of one; delivery asks for them."""

from alembic import op

from sereno.mailbox.migrations import replay
from sereno.mailbox.migrations.replay import STOP_SCOPES

revision = "0002_stop_scopes"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in STOP_SCOPES:
        op.execute(statement)


def downgrade() -> None:
    # The revision before knows no narrow stop: its whole tenant stands still instead, until a person ends that.
    op.execute(
        """
        insert into mailbox.stop (scope, reason, principal, engaged_at)
        select distinct on (split_part(scope, '/', 1)) split_part(scope, '/', 1), reason, principal, engaged_at
        from mailbox.stop where scope like '%/%' order by split_part(scope, '/', 1), engaged_at
        on conflict do nothing
        """
    )
    op.execute("delete from mailbox.stop where scope like '%/%'")
    replay.functions(["0001_functions.sql", "0001_partitions.sql"])
