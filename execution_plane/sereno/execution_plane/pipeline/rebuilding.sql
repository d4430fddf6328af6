-- name: lock
-- Who decides meanwhile waits at the first of them, before it holds anything.
lock table execution.subscription_state, execution.dedup, execution.budget, execution.batch in exclusive mode

-- name: told_dedup
-- The keys whose windows are open, each with the last receipt that took it: what a judgement came to is told by the event
-- that it leads to.
create temporary table told_dedup on commit drop as
select distinct on (v.tenant_id, r.origin, v.subscription, r.envelope ->> 'dedupkey')
    v.tenant_id, r.origin, v.subscription, r.envelope ->> 'dedupkey' as dedupkey, v.receiptid,
    case v.guard when 'condition' then 'awaiting_verdict' else v.outcome end as outcome, v.message_id,
    r.recordedtime
        + case when r.envelope ->> 'dedupkey' like 'body:%' then $2::interval else $3::interval end as expires_at
from execution.verdict v
join execution.receipt r on r.tenant_id = v.tenant_id and r.receiptid = v.receiptid
where r.recordedtime > $1::timestamptz - $3::interval
    and (v.guard = 'condition' or (v.outcome <> 'error' and v.reason not in ('not_active', 'duplicate')))
order by v.tenant_id, r.origin, v.subscription, r.envelope ->> 'dedupkey', r.recordedtime desc, v.receiptid desc

-- name: told_state
create temporary table told_state on commit drop as
select tenant_id, subscription, max(recorded) as last_recorded, max(delivered) as last_delivered_at,
    sum(deliveries)::bigint as deliveries
from (
    select v.tenant_id, v.subscription, max(v.recorded_clock),
        max(v.recorded_clock) filter (where v.outcome = 'delivered'), count(*) filter (where v.outcome = 'delivered')
    from execution.verdict v
    where v.guard <> 'match'
    group by v.tenant_id, v.subscription
    union all
    select b.tenant_id, b.subscription, max(b.delivered_at), max(b.delivered_at), count(*)
    from execution.batch b
    where b.message_id is not null
    group by b.tenant_id, b.subscription
    union all
    select o.tenant_id, o.subscription, o.last_delivered_at, o.last_delivered_at, o.deliveries
    from execution.opening o
) as part (tenant_id, subscription, recorded, delivered, deliveries)
group by tenant_id, subscription

-- name: told_budget
-- What reservations hold in the periods that may run still, none being longer than a month; of money, what was reported stands for what was reserved.
create temporary table told_budget on commit drop as
select tenant_id, scope, name, measure, per, starts_at, sum(amount) as used
from (
    select r.tenant_id, l ->> 0 as scope, l ->> 1 as name, l ->> 2 as measure, l ->> 3 as per,
        (l ->> 4)::timestamptz as starts_at,
        coalesce(
            (select sum((m ->> 0)::numeric) from json_array_elements(r.reported) as m where m ->> 1 = l ->> 2),
            (l ->> 5)::numeric
        ) as amount
    from execution.budget_reservation r, json_array_elements(r.lines) as l
) as line
where starts_at > $1::timestamptz - interval '32 days'
group by tenant_id, scope, name, measure, per, starts_at

-- name: told_batch
create temporary table told_batch on commit drop as
select i.tenant_id, i.batch_id as id, count(*)::integer as items
from execution.batch_item i
join execution.batch b on b.tenant_id = i.tenant_id and b.id = i.batch_id
where b.closed_at is null
group by i.tenant_id, i.batch_id

-- name: differing_dedup
select coalesce(t.tenant_id, d.tenant_id) as tenant_id,
    concat_ws(' ', coalesce(t.subscription, d.subscription), coalesce(t.dedupkey, d.dedupkey)) as name,
    array_remove(array[
        case when d.tenant_id is null then 'missing' when t.tenant_id is null then 'unexpected' end,
        case when t.receiptid <> d.receiptid then 'receiptid' end,
        case when t.outcome <> d.outcome then 'outcome' end,
        case when t.tenant_id is not null and d.tenant_id is not null and t.message_id is distinct from d.message_id
            then 'message_id' end,
        case when t.expires_at <> d.expires_at then 'expires_at' end
    ], null) as columns
from (select * from told_dedup where expires_at > $1) t
full join (select * from execution.dedup where expires_at > $1) d
    using (tenant_id, origin, subscription, dedupkey)
where d.tenant_id is null or t.tenant_id is null
    or (t.receiptid, t.outcome, t.message_id, t.expires_at)
        is distinct from (d.receiptid, d.outcome, d.message_id, d.expires_at)
order by 1, 2

-- name: differing_state
select coalesce(t.tenant_id, s.tenant_id) as tenant_id, coalesce(t.subscription, s.subscription) as name,
    array_remove(array[
        case when t.last_recorded is distinct from s.last_recorded then 'last_recorded' end,
        case when t.last_delivered_at is distinct from s.last_delivered_at then 'last_delivered_at' end,
        case when coalesce(t.deliveries, 0) <> coalesce(s.deliveries, 0) then 'deliveries' end
    ], null) as columns
from told_state t
full join execution.subscription_state s using (tenant_id, subscription)
where (t.last_recorded, t.last_delivered_at, coalesce(t.deliveries, 0))
    is distinct from (s.last_recorded, s.last_delivered_at, coalesce(s.deliveries, 0))
order by 1, 2

-- name: differing_budget
select coalesce(t.tenant_id, b.tenant_id) as tenant_id,
    concat_ws(' ', coalesce(t.scope, b.scope), coalesce(t.name, b.name), coalesce(t.measure, b.measure),
        coalesce(t.per, b.per)) as name,
    array['used'] as columns
from told_budget t
full join (select * from execution.budget where starts_at > $1::timestamptz - interval '32 days') b
    using (tenant_id, scope, name, measure, per, starts_at)
where coalesce(t.used, 0) <> coalesce(b.used, 0)
order by 1, 2

-- name: differing_batch
select b.tenant_id, concat_ws(' ', b.subscription, b.id) as name, array['items'] as columns
from execution.batch b
left join told_batch t using (tenant_id, id)
where b.closed_at is null and b.items <> coalesce(t.items, 0)
order by 1, 2

-- name: mend_dedup
with gone as (
    delete from execution.dedup d
    where d.expires_at > $1 and not exists (
        select from told_dedup t
        where (t.tenant_id, t.origin, t.subscription, t.dedupkey)
            = (d.tenant_id, d.origin, d.subscription, d.dedupkey)
    )
)
insert into execution.dedup (tenant_id, origin, subscription, dedupkey, receiptid, outcome, message_id, expires_at)
select tenant_id, origin, subscription, dedupkey, receiptid, outcome, message_id, expires_at
from told_dedup
where expires_at > $1
on conflict (tenant_id, origin, subscription, dedupkey) do update
    set receiptid = excluded.receiptid, outcome = excluded.outcome, message_id = excluded.message_id,
        expires_at = excluded.expires_at

-- name: mend_state
with gone as (
    update execution.subscription_state s set last_recorded = null, last_delivered_at = null, deliveries = 0
    where not exists (
        select from told_state t where t.tenant_id = s.tenant_id and t.subscription = s.subscription
    )
)
insert into execution.subscription_state (tenant_id, subscription, last_recorded, last_delivered_at, deliveries)
select tenant_id, subscription, last_recorded, last_delivered_at, deliveries from told_state
on conflict (tenant_id, subscription) do update
    set last_recorded = excluded.last_recorded, last_delivered_at = excluded.last_delivered_at,
        deliveries = excluded.deliveries

-- name: mend_budget
with gone as (
    update execution.budget b set used = 0
    where b.starts_at > $1::timestamptz - interval '32 days' and not exists (
        select from told_budget t
        where (t.tenant_id, t.scope, t.name, t.measure, t.per, t.starts_at)
            = (b.tenant_id, b.scope, b.name, b.measure, b.per, b.starts_at)
    )
)
insert into execution.budget (tenant_id, scope, name, measure, per, starts_at, used)
select tenant_id, scope, name, measure, per, starts_at, used from told_budget
on conflict (tenant_id, scope, name, measure, per, starts_at) do update set used = excluded.used

-- name: mend_batch
update execution.batch b set items = t.items
from told_batch t
where b.tenant_id = t.tenant_id and b.id = t.id and b.items <> t.items
