-- name: governance
-- Arguments: for how long an approval may be given, the lowest id of one that was asked for since then.
with tenant as materialized (
    select tenant_id from control.manifest_head
), pending as materialized (
    select t.tenant_id, count(*) as count, min(a.expires_at) - $1::interval as since
    from tenant t join control.approval a on a.tenant_id = t.tenant_id and a.id >= $2
    where a.state = 'pending' and a.expires_at > clock_timestamp()
    group by t.tenant_id
)
select 'sereno.approvals.waiting' as name, array[t.tenant_id] as labels, coalesce(p.count, 0)::float8 as value
from tenant t left join pending p using (tenant_id)
union all
select 'sereno.approvals.oldest', array[t.tenant_id],
    coalesce(date_part('epoch', clock_timestamp() - p.since), 0)
from tenant t left join pending p using (tenant_id)
