-- name: ensure_state
-- Rows are made before any is locked, and in key order: who waits here holds no row that another waits for.
-- Arguments: tenants, subscriptions.
insert into execution.subscription_state (tenant_id, subscription)
select k.tenant_id, k.subscription
from unnest($1::text[], $2::text[]) as k (tenant_id, subscription)
where not exists (
    select from execution.subscription_state s where s.tenant_id = k.tenant_id and s.subscription = k.subscription
)
order by k.tenant_id, k.subscription
on conflict do nothing

-- name: lock_state
-- The lock order of the whole plane: subscription state first, in key order (then dedup, budget, batch, message, log).
-- Whoever holds it is alone with all that is remembered of the subscription. Arguments: tenants, subscriptions.
select s.tenant_id, s.subscription, s.last_recorded, s.last_delivered_at, s.deliveries, s.arrivals
from execution.subscription_state s
join unnest($1::text[], $2::text[]) as k (tenant_id, subscription) using (tenant_id, subscription)
order by s.tenant_id, s.subscription
for update of s

-- name: suspensions
-- Arguments: tenants, subscriptions.
select s.tenant_id, s.id, s.subscription, s.cause, s.at, s.receiptid, s.numbers, s.subject
from execution.suspension s
join unnest($1::text[], $2::text[]) as k (tenant_id, subscription) using (tenant_id, subscription)
where s.ended_at is null
order by s.at, s.id

-- name: subjects
-- Arguments: tenants, subscriptions, subjects.
select s.tenant_id, s.subscription, s.subject, s.arrivals, s.actor, s.actor_before, s.turns
from execution.subject_state s
join unnest($1::text[], $2::text[], $3::text[]) as k (tenant_id, subscription, subject)
    using (tenant_id, subscription, subject)

-- name: open_batches
-- Those that take items. Arguments: tenants, subscriptions, keys.
select b.id, b.tenant_id, b.subscription, b.key, b.opened, b.items, b.size, b.ancestors, b.sealed, b.serial_key
from execution.batch b
join unnest($1::text[], $2::text[], $3::text[]) as k (tenant_id, subscription, key)
    using (tenant_id, subscription, key)
where b.closed_at is null and not b.sealed

-- name: open_work
-- Whose messages are not closed. What is leased is in no index by subscription, so it is looked through once.
-- Arguments: tenants, subscriptions, serial keys ('' for none).
with wanted as materialized (
    select * from unnest($1::text[], $2::text[], $3::text[]) as k (tenant_id, subscription, serial_key)
), leased as materialized (
    select distinct w.tenant_id, w.subscription, coalesce(w.serial_key, '') as serial_key
    from mailbox.work w
    where w.state = 'leased'
        and (w.tenant_id, w.subscription) in (select k.tenant_id, k.subscription from wanted k)
)
select k.tenant_id, k.subscription, k.serial_key
from wanted k
where exists (
    select from mailbox.work w
    where w.tenant_id = k.tenant_id and w.subscription = k.subscription and w.state <> 'leased'
        and coalesce(w.serial_key, '') = k.serial_key
) or exists (
    select from leased l
    where l.tenant_id = k.tenant_id and l.subscription = k.subscription and l.serial_key = k.serial_key
)

-- name: ensure_budgets
-- Arguments: tenants, scopes, names, measures, periods, starts.
insert into execution.budget (tenant_id, scope, name, measure, per, starts_at)
select k.*
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
    as k (tenant_id, scope, name, measure, per, starts_at)
where not exists (
    select from execution.budget b
    where (b.tenant_id, b.scope, b.name, b.measure, b.per, b.starts_at)
        = (k.tenant_id, k.scope, k.name, k.measure, k.per, k.starts_at)
)
order by k.tenant_id, k.scope, k.name, k.measure, k.per, k.starts_at
on conflict do nothing

-- name: lock_budgets
-- Arguments: as ensure_budgets.
select b.tenant_id, b.scope, b.name, b.measure, b.per, b.starts_at, b.used
from execution.budget b
join unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
    as k (tenant_id, scope, name, measure, per, starts_at)
    using (tenant_id, scope, name, measure, per, starts_at)
order by b.tenant_id, b.scope, b.name, b.measure, b.per, b.starts_at
for update of b

-- name: patience
-- Arguments: tenants, subscriptions.
select p.tenant_id, p.subscription, p.errors, p.error, p.unchanged, p.digest, p.slow
from execution.evaluation_patience p
join unnest($1::text[], $2::text[]) as k (tenant_id, subscription) using (tenant_id, subscription)

-- name: batches_by_id
-- Open batches with their items in order, locked. Arguments: tenants, ids.
select b.id, b.tenant_id, b.subscription, b.key, b.opened, b.items, b.size, b.ancestors, b.sealed, b.serial_key
from execution.batch b
join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)
where b.closed_at is null
order by b.tenant_id, b.subscription, b.opened, b.id
for update of b

-- name: batch_items
-- Arguments: tenants, ids of batches.
select i.tenant_id, i.batch_id, i.place, i.receiptid, r.envelope
from execution.batch_item i
join unnest($1::text[], $2::uuid[]) as k (tenant_id, batch_id) using (tenant_id, batch_id)
join execution.receipt r on r.tenant_id = i.tenant_id and r.receiptid = i.receiptid
order by i.tenant_id, i.batch_id, i.place
