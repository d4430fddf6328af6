-- name: record_notices
insert into mailbox.notice as n (tenant_id, cause, kind, text, data, count, first_at, last_at)
select tenant_id, cause, kind, text, data, count, clock_timestamp(), clock_timestamp()
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::bigint[])
    as i (tenant_id, cause, kind, text, data, count)
order by tenant_id, cause
on conflict (tenant_id, cause) do update set
    count = n.count + excluded.count, text = excluded.text, data = excluded.data, last_at = excluded.last_at
returning tenant_id, cause, kind, text, data, count, last_at

-- name: list_notices
-- What concerns every tenant stands under `*`. Arguments: tenant (null: all), page size.
select tenant_id, cause, kind, text, data, count, first_at, last_at
from mailbox.notice
where $1::text is null or tenant_id in ($1, '*')
order by last_at desc
limit $2
