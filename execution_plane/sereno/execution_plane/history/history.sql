-- name: page
-- Arguments: tenants, from and to (when received), the last of the page before (received, receipt), how many.
select tenant_id, receiptid, recordedtime, decided_at, envelope, outside
from execution.receipt
where tenant_id = any($1::text[])
    and ($2::timestamptz is null or recordedtime >= $2)
    and ($3::timestamptz is null or recordedtime <= $3)
    and ($4::timestamptz is null or (recordedtime, receiptid) > ($4, $5::uuid))
order by recordedtime, receiptid
limit $6
