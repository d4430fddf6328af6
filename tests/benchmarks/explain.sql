-- name: moment
select clock_timestamp()

-- name: quick
-- What is loaded here need not survive anything.
set synchronous_commit = off;
set work_mem = '256MB';
set maintenance_work_mem = '512MB';
alter table execution.receipt set unlogged;
alter table execution.verdict set unlogged;

-- name: indexes
-- Those of the large tables that no constraint needs.
select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
from pg_index i
where i.indrelid in ('execution.receipt'::regclass, 'execution.verdict'::regclass)
    and not exists (select from pg_constraint c where c.conindid = i.indexrelid)

-- name: receipts
-- Arguments: tenant, the envelope that all are made from. The last fifth are signals of schedules.
insert into execution.receipt (tenant_id, receiptid, origin, type, recordedtime, envelope, decided_at)
select $1, id, origin, type, at, $2::jsonb || jsonb_build_object(
    'id', 'ticket-' || n, 'receiptid', id, 'correlationid', id, 'origin', origin, 'type', type,
    'dedupkey', '/zendesk#ticket-' || n, 'subject', 'ticket/' || n % 9973
), clock_timestamp()
from (
    select n, id, at, n % 5 = 4 as slot,
        case when n % 5 = 4 then 'time/watch-' || n % 200 else 'webhook/zendesk' end as origin,
        case when n % 5 = 4 then 'sereno.time.due' else 'com.zendesk.ticket.created' end as type
    from pg_temp.numbered
) made
order by id

-- name: numbered
-- Arguments: how many. Identifiers are UUIDv7: milliseconds, then the number.
create temporary table numbered as
select n, at, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid as id,
    (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70009' || lpad(to_hex(n), 15, '0'))::uuid as message
from (
    select n, timestamptz '2026-03-02 12:00:00Z' + n * interval '100 milliseconds' as at
    from generate_series(1, {count}) as n
) counted

-- name: verdicts
-- Arguments: tenant; per way: the place of the subscription among the four, outcome, guard, reason, what the guards said,
-- numbers with what differs from row to row.
insert into execution.verdict
    (tenant_id, receiptid, subscription, subscription_version, outcome, guard, reason, guards, numbers, message_id,
    recorded_clock, database_clock, decided_at)
select $1, n.id, 'watch-' || (n.n * 4 + w.place) % 200, 1, w.outcome, w.guard, w.reason, w.guards::jsonb,
    replace(replace(w.numbers, '{message}', n.message::text), '{receipt}', n.id::text)::jsonb,
    case when w.outcome = 'delivered' then n.message end, n.at, n.at, clock_timestamp()
from pg_temp.numbered n, unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    as w (place, outcome, guard, reason, guards, numbers)
order by n.id

-- name: messages
-- Arguments: tenant, agent, the envelope.
insert into mailbox.message
    (tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority, order_key, ready_at,
    max_attempts, lease_seconds, max_run_seconds, max_age_seconds, lineage, context, deposited_at)
select $1, n.message, $2, 'watch-' || (n.n * 4) % 200, 1, 'Draft a reply.', json_build_array($3::json), 0, n.n, n.at,
    5, 60, 3600, 86400, '[]', '{}', n.at
from pg_temp.numbered n
order by n.message

-- name: events
-- Arguments: tenant, agent.
insert into mailbox.event (at, token, message_id, kind, tenant_id, agent, principal, attempts, detail, seconds)
select n.at, n.n, n.message, k.kind, $1, $2, 'agent:' || $2, 1, 'w1', 60
from pg_temp.numbered n, unnest(array['claimed', 'acked']) with ordinality as k (kind, place)
order by n.n, k.place

-- name: instants
-- Arguments: tenant.
insert into execution.due_instant (tenant_id, schedule, instant, subscription, receiptid, emitted, outcome, reason)
select $1, n.message, n.at, 'watch-' || n.n % 200, n.id, n.at, 'delivered', 'delivered'
from pg_temp.numbered n where n.n % 5 = 4

-- name: sample
-- Arguments: how many.
select id, message, n, n % 200 as watch, at from pg_temp.numbered where n % 5 = 4 order by random() limit $1
