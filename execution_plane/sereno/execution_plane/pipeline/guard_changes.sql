-- name: write_state
-- Arguments: tenants, subscriptions, last recorded, last delivered, deliveries, arrivals (as text).
update execution.subscription_state s
set last_recorded = k.last_recorded, last_delivered_at = k.last_delivered_at, deliveries = k.deliveries,
    arrivals = k.arrivals::bigint[]
from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::text[])
    as k (tenant_id, subscription, last_recorded, last_delivered_at, deliveries, arrivals)
where s.tenant_id = k.tenant_id and s.subscription = k.subscription

-- name: write_subjects
-- Arguments: tenants, subscriptions, subjects, arrivals and turns (as text), actors, actors before, when to forget.
insert into execution.subject_state
    (tenant_id, subscription, subject, arrivals, turns, actor, actor_before, forget_at)
select tenant_id, subscription, subject, arrivals::bigint[], turns::bigint[], actor, actor_before, forget_at
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
    as k (tenant_id, subscription, subject, arrivals, turns, actor, actor_before, forget_at)
order by tenant_id, subscription, subject
on conflict (tenant_id, subscription, subject) do update set
    arrivals = excluded.arrivals, turns = excluded.turns, actor = excluded.actor,
    actor_before = excluded.actor_before, forget_at = excluded.forget_at

-- name: charge
-- Arguments: tenants, scopes, names, measures, periods, starts, amounts to add.
update execution.budget b set used = b.used + k.amount
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::numeric[])
    as k (tenant_id, scope, name, measure, per, starts_at, amount)
where (b.tenant_id, b.scope, b.name, b.measure, b.per, b.starts_at)
    = (k.tenant_id, k.scope, k.name, k.measure, k.per, k.starts_at)

-- name: settle
-- Arguments: tenants, messages, lines, reported.
update execution.budget_reservation r set lines = k.lines::json, reported = k.reported::json
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as k (tenant_id, message_id, lines, reported)
where r.tenant_id = k.tenant_id and r.message_id = k.message_id

-- name: write_batches
-- Arguments: tenants, ids, subscriptions, keys, serial keys, opened, items, sizes, ancestors, sealed, due.
insert into execution.batch
    (tenant_id, id, subscription, key, serial_key, opened, items, size, ancestors, sealed, due_at)
select tenant_id, id, subscription, key, serial_key, opened, items, size, ancestors::json, sealed, due_at
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::integer[],
    $8::bigint[], $9::text[], $10::boolean[], $11::timestamptz[])
    as k (tenant_id, id, subscription, key, serial_key, opened, items, size, ancestors, sealed, due_at)
-- The sealed first: the batch that follows one of them has the same key.
order by sealed desc, tenant_id, id
-- When it is asked was settled by its first item, and since then by its own answers, unless it is full.
on conflict (tenant_id, id) do update set
    items = excluded.items, size = excluded.size, ancestors = excluded.ancestors, sealed = excluded.sealed,
    due_at = case when excluded.sealed then excluded.due_at else batch.due_at end

-- name: close_batches
-- Arguments: tenants, ids, messages, reasons, when they became messages, database clock.
update execution.batch b
set closed_at = $6, message_id = k.message_id, closed_reason = k.reason, delivered_at = k.delivered_at, due_at = null
from unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[])
    as k (tenant_id, id, message_id, reason, delivered_at)
where b.tenant_id = k.tenant_id and b.id = k.id

-- name: postpone
-- Arguments: tenants, ids, when to ask again.
update execution.batch b set due_at = k.due_at
from unnest($1::text[], $2::uuid[], $3::timestamptz[]) as k (tenant_id, id, due_at)
where b.tenant_id = k.tenant_id and b.id = k.id

-- name: suspend
-- Arguments: tenants, ids, subscriptions, causes, subjects, moments, receipts, numbers.
insert into execution.suspension (tenant_id, id, subscription, cause, subject, at, receiptid, numbers)
select tenant_id, id, subscription, cause, subject, at, receiptid, numbers::json
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[])
    as k (tenant_id, id, subscription, cause, subject, at, receiptid, numbers)
-- What was held and enters again may trip it once more in the same millisecond.
on conflict (tenant_id, id) do update set
    at = excluded.at, numbers = excluded.numbers, ended_at = null, ended_by = null, reason = null, held = null,
    released = false

-- name: hold
-- What is held again goes to the end of the line.
-- Arguments: tenants, receipts, subscriptions, causes, scopes, suspensions, database clock.
insert into execution.held (tenant_id, receiptid, subscription, cause, scope, suspension, held_at)
select tenant_id, receiptid, subscription, cause, scope, suspension, $7
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[]) with ordinality
    as k (tenant_id, receiptid, subscription, cause, scope, suspension, nr)
order by nr

-- name: evaluate
-- Arguments: tenants, receipts, subscriptions, versions, criteria, ancestors, requested.
insert into execution.evaluation
    (tenant_id, receiptid, subscription, version, criterion, ancestors, requested, ready_at)
select tenant_id, receiptid, subscription, version, criterion, ancestors::json, requested, requested
from unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::timestamptz[])
    as k (tenant_id, receiptid, subscription, version, criterion, ancestors, requested)
on conflict do nothing

-- name: write_patience
-- Arguments: tenants, subscriptions, errors, last errors, unchanged, digests, slow.
insert into execution.evaluation_patience (tenant_id, subscription, errors, error, unchanged, digest, slow)
select * from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::integer[], $6::text[], $7::integer[])
on conflict (tenant_id, subscription) do update set
    errors = excluded.errors, error = excluded.error, unchanged = excluded.unchanged, digest = excluded.digest,
    slow = excluded.slow
