-- name: write
-- One JSON array a delivery, in the order of the columns: one argument is cheaper to hand over than twelve.
insert into execution.delivery
    (tenant_id, id, endpoint, received_at, verdict, status, reason, latency_ms, size, receipts, redelivery_of, by_principal)
select d ->> 0, (d ->> 1)::uuid, d ->> 2, (d ->> 3)::timestamptz, d ->> 4, (d ->> 5)::integer, d ->> 6,
    (d ->> 7)::double precision, (d ->> 8)::bigint,
    array(select json_array_elements_text(d -> 9)::uuid), (d ->> 10)::uuid, d ->> 11
from json_array_elements($1::text::json) d
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
