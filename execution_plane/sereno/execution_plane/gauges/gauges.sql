-- name: guards
-- Arguments: the most that is counted.
with tenant as materialized (
    select tenant_id from execution.manifest
)
select 'sereno.guard.held' as name, array[h.tenant_id, h.cause] as labels, count(*)::float8 as value
from (select tenant_id, cause from execution.held order by cause, tenant_id, position limit $1) h
group by h.tenant_id, h.cause
union all
select 'sereno.guard.suspensions', array[s.tenant_id, s.cause], count(*)
from execution.suspension s where s.ended_at is null group by s.tenant_id, s.cause
union all
select 'sereno.guard.open_batches', array[t.tenant_id], (
    select count(*) from (
        select from execution.batch b where b.tenant_id = t.tenant_id and b.closed_at is null limit $1
    ) collecting
)
from tenant t
union all
select 'sereno.quarantine.events', array[t.tenant_id], (
    select count(*) from (select from execution.quarantine q where q.tenant_id = t.tenant_id limit $1) kept
)
from tenant t
union all
select 'sereno.evaluator.waiting', array[t.tenant_id], count(e.requested)
from tenant t left join (
    select tenant_id, requested from execution.evaluation order by ready_at limit $1
) e using (tenant_id)
group by t.tenant_id
union all
select 'sereno.evaluator.oldest', array[t.tenant_id],
    coalesce(date_part('epoch', clock_timestamp() - min(e.requested)), 0)
from tenant t left join (
    select tenant_id, requested from execution.evaluation order by ready_at limit $1
) e using (tenant_id)
group by t.tenant_id
union all
select 'sereno.follower.lag', array['reconciler'], date_part('epoch', clock_timestamp() - r.at)
from execution.reconciled r

-- name: transactions
-- The oldest transaction that may still write, and the next one: for followers nothing is settled from the first on.
select pg_snapshot_xmin(s)::text::bigint as oldest, pg_snapshot_xmax(s)::text::bigint as next
from pg_current_snapshot() as s

-- name: sources
-- Arguments: how long an instant may be without an end, the most that is counted. Whoever adds a kind of source adds
-- its parts here.
with tenant as materialized (
    select tenant_id, clock_timestamp() as at from execution.manifest
), schedule as materialized (
    select s.tenant_id, s.next_due from execution.schedule s
    where s.next_due is not null and not s.held order by s.next_due limit $2
), calendar as materialized (
    select c.tenant_id, c.next_due, c.looked_at, c.failures > 0 as failing
    from execution.calendar c where c.next_look is not null order by c.next_look limit $2
), undecided as materialized (
    select 'time' as family, d.tenant_id, d.emitted from (
        select tenant_id, emitted from execution.due_instant where outcome is null order by emitted limit $2
    ) d
    union all
    select 'calendar', c.tenant_id, c.emitted from (
        select tenant_id, emitted from execution.calendar_instant
        where state = 'emitted' and outcome is null order by emitted limit $2
    ) c
), due as materialized (
    select 'time' as family, tenant_id, next_due from schedule
    union all
    select 'calendar', c.tenant_id, c.next_due from calendar c
    where c.next_due is not null and not exists (
        select from mailbox.stop s where split_part(s.scope, '/', 1) in ('*', c.tenant_id)
    )
), family as materialized (
    select t.tenant_id, t.at, f.family from tenant t cross join (values ('time'), ('calendar')) as f (family)
)
select 'sereno.schedule.active' as name, array[f.tenant_id, f.family] as labels, count(d.next_due)::float8 as value
from family f left join due d using (tenant_id, family) group by f.tenant_id, f.family
union all
select 'sereno.schedule.overdue', array[f.tenant_id, f.family],
    greatest(0, coalesce(date_part('epoch', f.at - min(d.next_due)), 0))
from family f left join due d using (tenant_id, family) group by f.tenant_id, f.family, f.at
union all
select 'sereno.schedule.unaccounted', array[f.tenant_id, f.family],
    (select count(*) from undecided u where (u.tenant_id, u.family) = (f.tenant_id, f.family) and u.emitted < f.at - $1::interval)
    + (select count(*) from due d where (d.tenant_id, d.family) = (f.tenant_id, f.family) and d.next_due < f.at - $1::interval)
from family f
union all
select 'sereno.source.staleness', array[t.tenant_id, 'calendar'],
    coalesce(date_part('epoch', t.at - min(c.looked_at)), 0)
from tenant t left join calendar c using (tenant_id) group by t.tenant_id, t.at
union all
select 'sereno.source.failing', array[t.tenant_id, 'calendar'], count(*) filter (where c.failing)
from tenant t left join calendar c using (tenant_id) group by t.tenant_id

-- name: budgets
-- Arguments: tenants, scopes, names, measures, periods, beginnings.
select b.tenant_id, b.scope, b.name, b.measure, b.per, b.starts_at, b.used
from execution.budget b
join unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
    as k (tenant_id, scope, name, measure, per, starts_at) using (tenant_id, scope, name, measure, per, starts_at)
