-- name: due
-- Open batches that have to be asked whether they become a message. Arguments: page size.
select b.tenant_id, b.id, b.subscription
from execution.batch b
where b.closed_at is null and b.due_at <= (select clock_timestamp())
order by b.due_at, b.tenant_id, b.subscription, b.id
limit $1

-- name: ask_again
-- Batches of subscriptions that stand otherwise than before are asked at once. Arguments: tenants, subscriptions.
update execution.batch b set due_at = clock_timestamp()
from unnest($1::text[], $2::text[]) as k (tenant_id, subscription)
where b.tenant_id = k.tenant_id and b.subscription = k.subscription and b.closed_at is null
    and b.due_at > clock_timestamp()
