-- name: releasable
-- Held receipts whose cause is gone: the stop was lifted, the manifest is valid again, a person lifted the suspension.
-- Arguments: tenants whose manifest is valid, page size.
select h.tenant_id, h.receiptid, h.subscription, h.position
from execution.held h
where h.cause = 'stopped' and not exists (select from mailbox.stop s where s.scope = h.scope)
    and (h.choice is not null or not exists (select from mailbox.stop_review r where r.scope = h.scope))
union all
select h.tenant_id, h.receiptid, h.subscription, h.position
from execution.held h
where h.cause = 'policy_expired' and h.tenant_id = any($1::text[])
union all
select h.tenant_id, h.receiptid, h.subscription, h.position
from execution.suspension s
join execution.held h on h.tenant_id = s.tenant_id and h.suspension = s.id
where s.ended_at is not null and s.held <> 'review' and not s.released
order by 4
limit $2

-- name: take
-- Those of them that still are, in the order of arrival, with what is needed to decide them again; `is_last` of what one
-- schedule had held for the same cause. Arguments: tenants, receipts, subscriptions.
with taken as (
    delete from execution.held h
    using unnest($1::text[], $2::uuid[], $3::text[]) as k (tenant_id, receiptid, subscription)
    where h.tenant_id = k.tenant_id and h.receiptid = k.receiptid and h.subscription = k.subscription
    returning h.*
)
select t.tenant_id, t.receiptid, t.subscription, t.cause, t.scope, t.suspension, t.held_at, r.envelope, s.misfire,
    coalesce(t.choice, p.held) as choice,
    s.misfire is not null and not exists (
        select from execution.held l
        where l.tenant_id = t.tenant_id and l.subscription = t.subscription and l.cause = t.cause
            and l.position > t.position
    ) as is_last
from taken t
join execution.receipt r on r.tenant_id = t.tenant_id and r.receiptid = t.receiptid
left join execution.suspension p on p.tenant_id = t.tenant_id and p.id = t.suspension
left join execution.schedule s
    on s.tenant_id = t.tenant_id and s.subscription = t.subscription and r.origin like 'time/%'
order by t.position

-- name: settle_suspensions
-- Nothing waits for these any more.
update execution.suspension s set released = true
where s.ended_at is not null and s.held <> 'review' and not s.released
    and not exists (select from execution.held h where h.tenant_id = s.tenant_id and h.suspension = s.id)

-- name: rewrite
-- What became of it at last, in place of that it was held; the numbers keep for what and since when it was.
-- Arguments: tenants, receipts, subscriptions, versions, outcomes, guards, reasons, all verdicts, numbers, messages,
-- recorded clocks, database clock.
update execution.verdict v
set subscription_version = coalesce(k.version, v.subscription_version), outcome = k.outcome, guard = k.guard,
    reason = k.reason, guards = coalesce(k.guards::json, v.guards), message_id = k.message_id,
    numbers = (k.numbers::jsonb || jsonb_build_object('held_for', v.reason, 'held_since', v.decided_at))::json,
    recorded_clock = coalesce(k.recorded, v.recorded_clock), database_clock = $12, decided_at = $12, xid = default
from unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::uuid[], $11::timestamptz[])
    as k (tenant_id, receiptid, subscription, version, outcome, guard, reason, guards, numbers, message_id, recorded)
where v.tenant_id = k.tenant_id and v.receiptid = k.receiptid and v.subscription = k.subscription

-- name: give_back
-- The dedup keys of what came to nothing for a reason that leaves none: a sender's retry is a first arrival.
-- Arguments: tenants, receipts, subscriptions.
delete from execution.dedup d
using unnest($1::text[], $2::uuid[], $3::text[]) as k (tenant_id, receiptid, subscription)
where d.tenant_id = k.tenant_id and d.receiptid = k.receiptid and d.subscription = k.subscription

-- name: forget
-- The dedup keys of what fires no more say so. Arguments: tenants, receipts, subscriptions.
update execution.dedup d set outcome = 'dropped'
from unnest($1::text[], $2::uuid[], $3::text[]) as k (tenant_id, receiptid, subscription)
where d.tenant_id = k.tenant_id and d.receiptid = k.receiptid and d.subscription = k.subscription
