-- name: clock
select clock_timestamp()

-- name: decided_receipts
select r.receiptid
from execution.receipt r
join unnest($1::text[], $2::uuid[]) as k (tenant_id, receiptid) using (tenant_id, receiptid)

-- name: occurrences
select d.tenant_id, d.origin, d.subscription, d.dedupkey, d.receiptid, d.outcome, d.message_id, d.expires_at
from execution.dedup d
join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as k (tenant_id, origin, subscription, dedupkey)
    using (tenant_id, origin, subscription, dedupkey)

-- name: take_bodies
-- The first receipt of a body takes its row; a second pipeline waits here until the first has committed.
insert into execution.body_seen (tenant_id, endpoint, sha256, receiptid, expires_at)
select tenant_id, endpoint, sha256, receiptid, expires_at
from unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::timestamptz[], $6::timestamptz[])
    as k (tenant_id, endpoint, sha256, receiptid, recordedtime, expires_at)
order by tenant_id, endpoint, sha256
on conflict (tenant_id, endpoint, sha256) do update
    set receiptid = excluded.receiptid, expires_at = excluded.expires_at
    where body_seen.expires_at <= excluded.expires_at - $7::interval

-- name: bodies
select b.tenant_id, b.endpoint, b.sha256, b.receiptid, b.expires_at, v.subscription, v.outcome, v.message_id
from execution.body_seen b
join unnest($1::text[], $2::text[], $3::text[]) as k (tenant_id, endpoint, sha256)
    using (tenant_id, endpoint, sha256)
left join execution.verdict v on v.tenant_id = b.tenant_id and v.receiptid = b.receiptid

-- name: forget_bodies
delete from execution.body_seen b
using unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) as k (tenant_id, endpoint, sha256, receiptid)
where (b.tenant_id, b.endpoint, b.sha256, b.receiptid) = (k.tenant_id, k.endpoint, k.sha256, k.receiptid)

-- name: own_bodies
update execution.body_seen b
set receiptid = k.receiptid, expires_at = k.expires_at
from unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::timestamptz[])
    as k (tenant_id, endpoint, sha256, receiptid, expires_at)
where (b.tenant_id, b.endpoint, b.sha256) = (k.tenant_id, k.endpoint, k.sha256) and b.receiptid <> k.receiptid

-- name: causes
select m.tenant_id, m.id, m.agent, m.lineage
from mailbox.message m
join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: write_receipts
insert into execution.receipt
    (tenant_id, receiptid, origin, type, recordedtime, envelope, outside, body_sha256, duplicate_of, decided_at)
select tenant_id, receiptid, origin, type, recordedtime, envelope::jsonb, outside::jsonb, body_sha256, duplicate_of, $10
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[],
    $8::text[], $9::uuid[])
    as r (tenant_id, receiptid, origin, type, recordedtime, envelope, outside, body_sha256, duplicate_of)
on conflict do nothing

-- name: write_verdicts
insert into execution.verdict
    (tenant_id, receiptid, subscription, subscription_version, outcome, guard, reason, guards, numbers, message_id,
     recorded_clock, database_clock, decided_at)
select tenant_id, receiptid, subscription, subscription_version, outcome, guard, reason, guards::json,
    numbers::json, message_id, recorded_clock, $12, $12
from unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::uuid[], $11::timestamptz[])
    as v (tenant_id, receiptid, subscription, subscription_version, outcome, guard, reason, guards, numbers,
          message_id, recorded_clock)
on conflict do nothing

-- name: write_occurrences
-- An expired occurrence gives its key to the new one.
insert into execution.dedup
    (tenant_id, origin, subscription, dedupkey, receiptid, outcome, message_id, expires_at)
select tenant_id, origin, subscription, dedupkey, receiptid, outcome, message_id, expires_at
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::uuid[], $8::timestamptz[])
    as d (tenant_id, origin, subscription, dedupkey, receiptid, outcome, message_id, expires_at)
order by tenant_id, origin, subscription, dedupkey
on conflict (tenant_id, origin, subscription, dedupkey) do update
    set receiptid = excluded.receiptid, outcome = excluded.outcome, message_id = excluded.message_id,
        expires_at = excluded.expires_at

-- name: write_due_instants
with k as materialized (
    select * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as k (tenant_id, receiptid, outcome, reason)
),
timed as (
    update execution.due_instant d set outcome = k.outcome, reason = k.reason from k
    where d.tenant_id = k.tenant_id and d.receiptid = k.receiptid and (d.outcome is null or d.outcome = 'held')
    returning d.outcome, d.instant
),
dated as (
    update execution.calendar_instant d set outcome = k.outcome, reason = k.reason from k
    where d.tenant_id = k.tenant_id and d.receiptid = k.receiptid and (d.outcome is null or d.outcome = 'held')
    returning d.outcome, d.fire
)
select outcome, extract(epoch from clock_timestamp() - due)::float8 as seconds
from (select * from timed union all select * from dated) as decided (outcome, due)

-- name: write_quarantine
insert into execution.quarantine (tenant_id, sha256, receiptid, payload, error, stream_sequence)
select * from unnest($1::text[], $2::text[], $3::uuid[], $4::bytea[], $5::text[], $6::bigint[])
on conflict (tenant_id, sha256) do nothing
returning tenant_id, sha256
