-- name: turn
-- Tests of a tenant are counted one after the other, so that no two replicas take the last turn. Arguments: tenant.
select pg_advisory_xact_lock(hashtextextended('condition_test/' || $1, 0))

-- name: take
-- A turn, unless the pace is used up; no row then. Arguments: tenant, id, subscription, by, most within a minute.
insert into execution.condition_test (tenant_id, id, subscription, by_principal)
select $1, $2, $3, $4
where (
    select count(*) from execution.condition_test
    where tenant_id = $1 and at > (select clock_timestamp()) - interval '1 minute'
) < $5
returning id

-- name: received
-- What came last from a source, newest first. Arguments: tenant, origin, whether what agents emit is heard too, how many.
select receiptid, envelope
from execution.receipt
where tenant_id = $1 and (origin = $2 or ($3 and origin like 'agent/%'))
order by recordedtime desc
limit $4
