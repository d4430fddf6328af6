-- name: lead
-- One at a time; the others come again.
select pg_try_advisory_xact_lock(hashtextextended('sereno.reconciling', 0))

-- name: since
select at, clock_timestamp() as now from execution.reconciled

-- name: closed
-- Messages that were acknowledged or died since, whose end was not taken account of. Arguments: from when on, page size.
select
    e.tenant_id, e.message_id, coalesce(e.run_id, e.message_id) as run_id, e.at, e.kind, e.detail, e.data, e.attempts,
    m.agent, m.subscription, r.lines, r.reported, r.closed
from mailbox.event e
join mailbox.message m on m.tenant_id = e.tenant_id and m.id = e.message_id
left join execution.budget_reservation r on r.tenant_id = e.tenant_id and r.message_id = e.message_id
where e.at >= $1 and e.kind in ('acked', 'died') and not exists (
    select from execution.usage u
    where u.tenant_id = e.tenant_id and u.kind = 'wake' and u.reference = coalesce(e.run_id, e.message_id)::text
)
order by e.at, e.message_id
limit $2

-- name: genealogies
-- Arguments: tenants, messages.
select m.tenant_id, m.id, m.envelopes
from mailbox.message m
join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: write_usage
-- Arguments: tenants, references, currencies, moments, subscriptions, agents, models, outcomes, costs, reserved, kind.
insert into execution.usage
    (tenant_id, reference, currency, at, subscription, agent, model, outcome, cost, reserved, kind)
select k.*, $11
from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::numeric[], $10::numeric[])
    as k (tenant_id, reference, currency, at, subscription, agent, model, outcome, cost, reserved)
on conflict do nothing

-- name: close_reservations
-- Arguments: tenants, messages, ends, moments.
update execution.budget_reservation r set closed = k.closed, closed_at = k.at
from unnest($1::text[], $2::uuid[], $3::text[], $4::timestamptz[]) as k (tenant_id, message_id, closed, at)
where r.tenant_id = k.tenant_id and r.message_id = k.message_id

-- name: advance
-- Argument: until when.
update execution.reconciled set at = greatest(at, $1)
