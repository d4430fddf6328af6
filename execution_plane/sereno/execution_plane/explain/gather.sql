-- name: receipt
select tenant_id, receiptid, origin, type, recordedtime, envelope, outside, body_sha256, duplicate_of, decided_at
from execution.receipt
where tenant_id = $1 and receiptid = $2

-- name: events
-- Of the first event of a chain, or of the candidate of a verdict: what it was and what caused it.
select receiptid, origin, type, recordedtime, envelope ->> 'causationid' as causationid
from execution.receipt
where tenant_id = $1 and receiptid = any($2::uuid[])

-- name: ancestors
-- The message that caused an event, with those among its own causes, and the events that led to each.
select m.id, m.agent, m.subscription, m.deposited_at, m.lineage, (
    select array_agg(e ->> 'receiptid' order by place)
    from json_array_elements(m.envelopes) with ordinality as listed (e, place)
) as receipts
from mailbox.message m
where m.tenant_id = $1 and m.id = any(array(
    select $2::uuid
    union all
    select (named ->> 'message')::uuid
    from mailbox.message c, json_array_elements(c.lineage) as named
    where c.tenant_id = $1 and c.id = $2
))

-- name: tenants_of_receipt
select tenant_id from execution.receipt where tenant_id = any($1::text[]) and receiptid = $2

-- name: tenants_of_message
select tenant_id from mailbox.message where tenant_id = any($1::text[]) and id = $2

-- name: tenants_of_suspension
select tenant_id from execution.suspension where tenant_id = any($1::text[]) and id = $2

-- name: suspension
select s.id, s.tenant_id, s.subscription, s.cause, s.subject, s.at, s.receiptid, s.numbers, s.ended_at, s.ended_by,
    s.reason, s.held, (
        select count(*) from execution.held h where h.tenant_id = s.tenant_id and h.suspension = s.id
    ) as waiting
from execution.suspension s
where s.tenant_id = $1 and s.id = $2

-- name: last_of_batch
select receiptid from execution.batch_item where tenant_id = $1 and batch_id = $2 order by place desc limit 1

-- name: message_of_redrive
-- The run that a redrive began: its id holds the moment ($3), so that only that part of the log is looked through.
select tenant_id, message_id
from mailbox.event
where at between $3::timestamptz - interval '10 minutes' and $3::timestamptz + interval '10 minutes'
    and kind = 'redriven' and run_id = $2 and tenant_id = any($1::text[])
limit 1

-- name: receipts_of_event
select tenant_id, receiptid, type, recordedtime, envelope ->> 'source' as source
from execution.receipt
where tenant_id = any($1::text[]) and envelope ->> 'id' = $2
order by recordedtime desc, receiptid
limit $3

-- name: instants_of_subscription
-- One row may stand for a run of instants that were skipped; of a calendar several may be due at one moment.
select tenant_id, receiptid, coalesce(outcome, 'pending') as outcome, reason
from (
    select tenant_id, receiptid, outcome, reason, instant
    from execution.due_instant
    where tenant_id = any($1::text[]) and subscription = $2 and instant >= $3 and coalesce(skipped_from, instant) <= $3
    union all
    select tenant_id, receiptid, coalesce(outcome, state), coalesce(reason, 'it is still to come'), fire
    from execution.calendar_instant
    where tenant_id = any($1::text[]) and subscription = $2 and fire = $3
) as due
order by receiptid is null, instant
limit $4

-- name: verdicts_of_receipt
-- What was merged became the message of its batch.
select v.receiptid, v.subscription, v.subscription_version, v.outcome, v.guard, v.reason, v.guards, v.numbers,
    coalesce(v.message_id, b.message_id) as message_id, v.recorded_clock, v.database_clock, v.decided_at
from execution.verdict v
left join execution.batch b
    on v.outcome = 'merged' and b.tenant_id = v.tenant_id and b.id = (v.numbers ->> 'batch')::uuid
where v.tenant_id = $1 and v.receiptid = $2
order by v.subscription

-- name: verdicts_of_message
select receiptid, subscription, subscription_version, outcome, guard, reason, guards, numbers, message_id,
    recorded_clock, database_clock, decided_at
from execution.verdict
where tenant_id = $1 and message_id = $2
union all
select v.receiptid, v.subscription, v.subscription_version, v.outcome, v.guard, v.reason, v.guards, v.numbers,
    b.message_id, v.recorded_clock, v.database_clock, v.decided_at
from execution.batch b
join execution.batch_item i on i.tenant_id = b.tenant_id and i.batch_id = b.id
join execution.verdict v
    on v.tenant_id = i.tenant_id and v.receiptid = i.receiptid and v.subscription = b.subscription
where b.tenant_id = $1 and b.message_id = $2
order by receiptid, subscription

-- name: versions
select distinct on (v.key, v.version) v.key, v.version, v.sha256
from execution.catalog_version v
join unnest($2::text[], $3::bigint[]) as k (key, version) using (key, version)
where v.tenant_id = $1 and v.first_seen_at <= $4
order by v.key, v.version, v.first_seen_at desc

-- name: in_force
-- What this plane worked from at that moment: of each subscription the version that it saw last before.
select distinct on (key) key, version, sha256
from execution.catalog_version
where tenant_id = $1 and key like 'subscription/%' and first_seen_at <= $2
order by key, first_seen_at desc

-- name: canonical
select key, version, sha256, canonical
from execution.catalog_version
join unnest($2::text[], $3::bigint[], $4::text[]) as k (key, version, sha256) using (key, version, sha256)
where tenant_id = $1

-- name: messages
select id, agent, deposited_at, lineage, max_attempts, state, attempts, reason, closed_at, held_by, leased_until
from mailbox.standing
where tenant_id = $1 and id = any($2::uuid[])

-- name: message_events
select message_id, at, kind, token, principal, data
from mailbox.history
where tenant_id = $1 and message_id = any($2::uuid[])
order by message_id, position

-- name: due_instants
select receiptid, schedule, instant, emitted, outcome
from execution.due_instant
where tenant_id = $1 and receiptid = $2
union all
select receiptid, calendar, fire, emitted, outcome
from execution.calendar_instant
where tenant_id = $1 and receiptid = $2

-- name: quarantine
select error, sha256, quarantined_at from execution.quarantine where tenant_id = $1 and receiptid = $2

-- name: filtered
-- Arguments: tenant, the moment of receipt.
select subscription, events
from execution.filtered_out
where tenant_id = $1 and hour = date_trunc('hour', $2::timestamptz, 'UTC')
