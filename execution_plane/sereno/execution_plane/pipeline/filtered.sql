-- name: add
-- Arguments: tenants, subscriptions, hours, events.
insert into execution.filtered_out as f (tenant_id, subscription, hour, events)
select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[])
    as k (tenant_id, subscription, hour, events)
order by tenant_id, subscription, hour
on conflict (tenant_id, subscription, hour) do update set events = f.events + excluded.events
