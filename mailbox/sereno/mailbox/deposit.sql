-- name: deposit_batch
-- A message that is already there is left alone, and with it its work. The order key is fixed here:
-- microseconds of the ready time, one minute earlier per step of priority (which is also the ageing).
with clock as materialized (
    select clock_timestamp() as at
), item as materialized (
    select * from unnest(
        $1::text[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::integer[],
        $9::timestamptz[], $10::text[], $11::integer[], $12::double precision[], $13::double precision[],
        $14::double precision[], $15::text[], $16::text[]
    ) as i (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority,
        ready_at, serial_key, max_attempts, lease_seconds, max_run_seconds,
        max_age_seconds, lineage, context
    )
), deposited as (
    insert into mailbox.message (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority,
        order_key, ready_at, serial_key, max_attempts, lease_seconds, max_run_seconds, max_age_seconds,
        lineage, context, deposited_at
    )
    select
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes::jsonb, priority,
        (extract(epoch from coalesce(ready_at, clock.at)) * 1000000)::bigint - priority * 60000000::bigint,
        coalesce(ready_at, clock.at), serial_key, max_attempts, lease_seconds, max_run_seconds,
        max_age_seconds, lineage::jsonb, context::jsonb, clock.at
    from item, clock
    order by tenant_id, id
    on conflict (tenant_id, id) do nothing
    returning
        tenant_id, id, seq, agent, subscription, serial_key, context ->> 'on_behalf_of' as on_behalf_of,
        order_key, ready_at, deposited_at, max_attempts, lease_seconds, max_run_seconds, max_age_seconds
)
insert into mailbox.work (
    tenant_id, id, run_id, seq, agent, subscription, serial_key, on_behalf_of, order_key, state, due,
    ready_at, max_attempts, lease_seconds, max_run_seconds, max_age_seconds
)
select
    tenant_id, id, id, seq, agent, subscription, serial_key, on_behalf_of, order_key, 'ready',
    ready_at <= deposited_at, ready_at, max_attempts, lease_seconds, max_run_seconds, max_age_seconds
from deposited
