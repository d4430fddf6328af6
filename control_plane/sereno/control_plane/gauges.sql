-- name: governance
-- Arguments: for how long an approval may be given.
with tenant as materialized (
    select tenant_id from control.manifest_head
), pending as materialized (
    select tenant_id, count(*) as count, min(expires_at) - $1::interval as since
    from control.approval where state = 'pending' and expires_at > clock_timestamp() group by tenant_id
)
select 'sereno.approvals.waiting' as name, array[t.tenant_id] as labels, coalesce(p.count, 0)::float8 as value
from tenant t left join pending p using (tenant_id)
union all
select 'sereno.approvals.oldest', array[t.tenant_id],
    coalesce(date_part('epoch', clock_timestamp() - p.since), 0)
from tenant t left join pending p using (tenant_id)
