"""A stop has a scope: everything, a tenant, an agent or a subscription of one; delivery asks for them."""

from alembic import op

revision = "0002_stop_scopes"
down_revision = "0001"
branch_labels = None
depends_on = None

# The caller's transaction holds the lock until it ends, so a stop that returned lets nothing through: the lock
# first, then the rows with a snapshot taken after it (mechanics 24).
SCOPES = """
create function mailbox.stop_scopes(p_tenants text[]) returns setof text language plpgsql volatile as $$
begin
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    return query
        select s.scope from mailbox.stop s
        where s.scope = '*' or split_part(s.scope, '/', 1) = any(p_tenants);
end
$$
"""


def upgrade() -> None:
    op.execute("drop function mailbox.stopped(text[])")
    op.execute(SCOPES)


def downgrade() -> None:
    raise NotImplementedError("the stops of narrow scopes would be lost; restore a back-up instead")
