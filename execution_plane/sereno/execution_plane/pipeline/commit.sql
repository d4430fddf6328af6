-- name: drop_items
-- The events of batches that never become a message end with the reason of that.
-- Arguments: tenants, batches, guards, reasons, database clock.
update execution.verdict v
set outcome = 'dropped', guard = k.guard, reason = k.reason, database_clock = $5, decided_at = $5, xid = default
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as k (tenant_id, batch_id, guard, reason)
join execution.batch b on b.tenant_id = k.tenant_id and b.id = k.batch_id
join execution.batch_item i on i.tenant_id = b.tenant_id and i.batch_id = b.id
where v.tenant_id = i.tenant_id and v.receiptid = i.receiptid and v.subscription = b.subscription

-- name: drop_keys
-- And with them what their dedup keys say became of them. Arguments: tenants, batches.
update execution.dedup d set outcome = 'dropped'
from unnest($1::text[], $2::uuid[]) as k (tenant_id, batch_id)
join execution.batch b on b.tenant_id = k.tenant_id and b.id = k.batch_id
join execution.batch_item i on i.tenant_id = b.tenant_id and i.batch_id = b.id
join execution.receipt r on r.tenant_id = i.tenant_id and r.receiptid = i.receiptid
where d.tenant_id = r.tenant_id and d.origin = r.origin and d.subscription = b.subscription
    and d.dedupkey = r.envelope ->> 'dedupkey' and d.receiptid = r.receiptid
