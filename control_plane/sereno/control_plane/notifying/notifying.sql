-- name: sinks
-- Since when each is configured. Arguments: names, now.
insert into control.notice_sink (name, since)
select name, $2 from unnest($1::text[]) as i (name)
on conflict (name) do update set since = control.notice_sink.since
returning name, since

-- name: untold
-- Notices that a sink has not heard of yet. Arguments: sink, since when it is configured, page size.
select n.* from control.notice n
where n.told_at >= $2 and not exists (
    select from control.notice_delivery d
    where d.tenant_id = n.tenant_id and d.cause = n.cause and d.sink = $1 and d.told = n.told
)
order by n.told_at limit $3

-- name: plan
-- Arguments: tenants, causes, tellings, sink, ids, when each is due (null: it is not for this sink).
insert into control.notice_delivery (tenant_id, cause, told, sink, id, next_at)
select tenant_id, cause, told, $4, id, due
from unnest($1::text[], $2::text[], $3::integer[], $5::uuid[], $6::timestamptz[]) as i (tenant_id, cause, told, id, due)
on conflict do nothing

-- name: take
-- What is due, taken for a while: whoever dies in between is followed by the next. Arguments: sinks, seconds, page size.
with due as materialized (
    select d.tenant_id, d.cause, d.sink, d.told from control.notice_delivery d
    where d.next_at <= (select clock_timestamp()) and d.sink = any($1::text[])
    order by d.next_at limit $3
    for update skip locked
), taken as (
    update control.notice_delivery d
    set attempts = d.attempts + 1, next_at = clock_timestamp() + make_interval(secs => $2)
    from due
    where d.tenant_id = due.tenant_id and d.cause = due.cause and d.sink = due.sink and d.told = due.told
    returning d.*
)
select t.id, t.sink, t.attempts, t.told as telling, n.*
from taken t join control.notice n on n.tenant_id = t.tenant_id and n.cause = t.cause

-- name: sent
-- Arguments: tenant, cause, sink, telling.
update control.notice_delivery set sent_at = clock_timestamp(), next_at = null, error = null
where tenant_id = $1 and cause = $2 and sink = $3 and told = $4

-- name: failed
-- Arguments: tenant, cause, sink, telling, error, seconds until the next try (null: given up).
update control.notice_delivery set error = $5, next_at = clock_timestamp() + make_interval(secs => $6)
where tenant_id = $1 and cause = $2 and sink = $3 and told = $4

-- name: waiting
-- Seconds until the next try.
select extract(epoch from min(next_at) - clock_timestamp())::double precision from control.notice_delivery
where next_at is not null
