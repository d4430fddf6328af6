-- name: releasable
-- Held receipts whose cause is gone: the stop was lifted, or the manifest is valid again.
-- Arguments: tenants whose manifest is valid, page size.
select v.tenant_id, v.receiptid, v.subscription
from execution.verdict v
where v.outcome = 'held' and (
    (v.reason = 'stopped' and not exists (select from mailbox.stop s where s.scope = v.numbers ->> 'scope'))
    or (v.reason = 'policy_expired' and v.tenant_id = any($1::text[]))
)
order by v.decided_at, v.receiptid, v.subscription
limit $2

-- name: take
-- Those of them that nobody else takes, with what is needed to decide them again; `is_last` of what one schedule
-- had held for the same cause. Arguments: tenants, receipts, subscriptions.
select v.tenant_id, v.receiptid, v.subscription, v.reason, v.numbers ->> 'scope' as scope, r.envelope, s.misfire,
    s.misfire is not null and not exists (
        select from execution.verdict l
        where l.outcome = 'held' and l.reason = v.reason and l.tenant_id = v.tenant_id
            and l.subscription = v.subscription and (l.decided_at, l.receiptid) > (v.decided_at, v.receiptid)
    ) as is_last
from execution.verdict v
join unnest($1::text[], $2::uuid[], $3::text[]) as k (tenant_id, receiptid, subscription)
    using (tenant_id, receiptid, subscription)
join execution.receipt r using (tenant_id, receiptid)
left join execution.schedule s
    on s.tenant_id = v.tenant_id and s.subscription = v.subscription and r.origin like 'time/%'
where v.outcome = 'held'
order by v.decided_at, v.receiptid, v.subscription
for update of v skip locked

-- name: rewrite
-- What became of it at last, in place of that it was held; the numbers keep for what and since when it was.
-- Arguments: tenants, receipts, subscriptions, versions, outcomes, guards, reasons, all verdicts, numbers, messages.
update execution.verdict v
set subscription_version = coalesce(k.version, v.subscription_version), outcome = k.outcome, guard = k.guard,
    reason = k.reason, guards = coalesce(k.guards::jsonb, v.guards), message_id = k.message_id,
    numbers = k.numbers::jsonb || jsonb_build_object('held_for', v.reason, 'held_since', v.decided_at),
    database_clock = clock_timestamp(), decided_at = clock_timestamp()
from unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::uuid[])
    as k (tenant_id, receiptid, subscription, version, outcome, guard, reason, guards, numbers, message_id)
where v.tenant_id = k.tenant_id and v.receiptid = k.receiptid and v.subscription = k.subscription

-- name: forget
-- The dedup keys of what fires no more say so. Arguments: tenants, receipts, subscriptions.
update execution.dedup d set outcome = 'dropped'
from unnest($1::text[], $2::uuid[], $3::text[]) as k (tenant_id, receiptid, subscription)
where d.tenant_id = k.tenant_id and d.receiptid = k.receiptid and d.subscription = k.subscription
