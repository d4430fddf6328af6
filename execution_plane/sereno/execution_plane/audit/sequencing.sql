-- name: cursor
-- One sequencer at a time; another finds nothing to do.
select xid, receiptid, subscription from execution.audit_cursor for update skip locked

-- name: decided
-- Of transactions of which no other is open still, so that nothing comes before what was read.
select xid, tenant_id, receiptid, subscription, subscription_version, outcome, guard, reason, message_id, decided_at
from execution.verdict
where xid >= $1 and (xid, receiptid, subscription) > ($1, $2, $3)
    and xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
order by xid, receiptid, subscription
limit $4

-- name: advance
update execution.audit_cursor set xid = $1, receiptid = $2, subscription = $3
