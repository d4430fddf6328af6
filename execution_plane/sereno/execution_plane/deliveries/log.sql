-- name: write
insert into execution.delivery
    (tenant_id, id, endpoint, received_at, verdict, status, reason, latency_ms, size, receipts, redelivery_of, by_principal)
select tenant_id, id, endpoint, received_at, verdict, status, reason, latency_ms, size,
    coalesce(string_to_array(nullif(receipts, ''), ',')::uuid[], '{}'), redelivery_of, by_principal
from unnest($1::text[], $2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::int[], $7::text[],
    $8::double precision[], $9::bigint[], $10::text[], $11::uuid[], $12::text[])
    as d (tenant_id, id, endpoint, received_at, verdict, status, reason, latency_ms, size, receipts, redelivery_of,
          by_principal)
on conflict do nothing

-- name: list
select tenant_id, id, endpoint, received_at, verdict, status, reason, latency_ms, size, receipts, redelivery_of,
    by_principal
from execution.delivery
where tenant_id = any($1::text[])
    and ($2::text is null or endpoint = $2)
    and ($3::text is null or verdict = $3)
    and ($4::uuid is null or id < $4)
order by id desc
limit $5

-- name: receipts_of_delivery
select tenant_id, receipts from execution.delivery where tenant_id = any($1::text[]) and id = $2

-- name: envelope_of_receipt
select tenant_id, envelope from execution.receipt where tenant_id = any($1::text[]) and receiptid = $2

-- name: forget
delete from execution.delivery
where (tenant_id, id) in (select tenant_id, id from execution.delivery where received_at < $1 limit 10000)
