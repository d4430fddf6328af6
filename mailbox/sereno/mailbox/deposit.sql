-- name: join_lines
-- Holds the line of each serial key until the transaction ends, so that only one joins or promotes at a time.
-- Arguments: tenants, agents, serial keys.
insert into mailbox.serial_slot as s (tenant_id, agent, serial_key)
select distinct tenant_id, agent, serial_key from unnest($1::text[], $2::text[], $3::text[])
    as i (tenant_id, agent, serial_key)
order by tenant_id, agent, serial_key
on conflict (tenant_id, agent, serial_key) do update set stalled = s.stalled

-- name: deposit_batch
-- A message that is already there is left alone, and with it its work. The order key is fixed here (mechanics 21):
-- one place of 1000 after the last of its subscription, or after how far the mailbox has come; 20 places earlier
-- per step of priority, which is also the ageing. Only the first of a serial key is not behind another.
with clock as materialized (
    select clock_timestamp() as at
), item as materialized (
    select
        i.*,
        count(*) over flow - row_number() over flow as after_it,
        case when serial_key is not null then nextval('mailbox.place_sequence') end as place
    from unnest(
        $1::text[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::integer[],
        $9::timestamptz[], $10::text[], $11::integer[], $12::double precision[], $13::double precision[],
        $14::double precision[], $15::text[], $16::text[]
    ) with ordinality as i (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority,
        ready_at, serial_key, max_attempts, lease_seconds, max_run_seconds,
        max_age_seconds, lineage, context, nr
    )
    window flow as (
        partition by tenant_id, agent, subscription
        order by nr rows between unbounded preceding and unbounded following
    )
), opened as (
    insert into mailbox.box as b (tenant_id, agent, top_priority)
    -- Only where there is something to write: a conflict would lock the row for every deposit.
    select i.tenant_id, i.agent, max(i.priority) from item i
    where not exists (
        select from mailbox.box o
        where o.tenant_id = i.tenant_id and o.agent = i.agent and o.top_priority >= i.priority
    )
    group by i.tenant_id, i.agent order by i.tenant_id, i.agent
    on conflict (tenant_id, agent) do update set top_priority = excluded.top_priority
        where b.top_priority < excluded.top_priority
), box as materialized (
    select i.tenant_id, i.agent, greatest(b.virtual_time, coalesce(first.tag, last.tag, 0)) as virtual_time
    from (select distinct tenant_id, agent from item) i
    left join mailbox.box b using (tenant_id, agent)
    left join lateral (
        select w.order_key as tag from mailbox.work w
        where w.tenant_id = i.tenant_id and w.agent = i.agent and w.state = 'ready' and w.due and w.held_by is null
            and not w.behind and w.order_key >= coalesce(b.virtual_time, 0)
        order by w.order_key, w.id
        limit 1
    ) first on true
    left join lateral (
        select max(f.last_tag) as tag from mailbox.flow f
        where first.tag is null and f.tenant_id = i.tenant_id and f.agent = i.agent
    ) last on true
), flow as (
    insert into mailbox.flow as f (tenant_id, agent, subscription, last_tag, deposits)
    select i.tenant_id, i.agent, i.subscription, max(b.virtual_time) + 1000 * count(*), count(*)
    from item i join box b using (tenant_id, agent)
    group by i.tenant_id, i.agent, i.subscription
    order by i.tenant_id, i.agent, i.subscription
    on conflict (tenant_id, agent, subscription) do update set
        last_tag = greatest(excluded.last_tag, f.last_tag + 1000 * excluded.deposits),
        deposits = f.deposits + excluded.deposits
    returning tenant_id, agent, subscription, last_tag
), deposited as (
    insert into mailbox.message (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority,
        order_key, ready_at, serial_key, place, max_attempts, lease_seconds, max_run_seconds, max_age_seconds,
        lineage, context, deposited_at
    )
    select
        i.tenant_id, i.id, i.agent, i.subscription, subscription_version, instruction, envelopes::json, priority,
        flow.last_tag - 1000 * i.after_it - 20000::bigint * priority, coalesce(ready_at, clock.at),
        serial_key, place, max_attempts, lease_seconds, max_run_seconds, max_age_seconds, lineage::json,
        context::json, clock.at
    from item i
    join flow using (tenant_id, agent, subscription), clock
    order by i.tenant_id, i.id
    on conflict (tenant_id, id) do nothing
    returning
        tenant_id, id, agent, subscription, serial_key, place, order_key, ready_at, deposited_at, max_attempts,
        context ->> 'on_behalf_of' as on_behalf_of
)
insert into mailbox.work (
    tenant_id, id, agent, subscription, serial_key, place, behind, on_behalf_of, order_key, state, due, ready_at,
    max_attempts
)
select
    d.tenant_id, d.id, d.agent, d.subscription, d.serial_key, d.place,
    d.serial_key is not null and (
        row_number() over (partition by d.tenant_id, d.agent, d.serial_key order by d.place) > 1
        or exists (
            select from mailbox.work w
            where w.tenant_id = d.tenant_id and w.agent = d.agent and w.serial_key = d.serial_key
        )
    ),
    d.on_behalf_of, d.order_key, 'ready', d.ready_at <= d.deposited_at, d.ready_at, d.max_attempts
from deposited d
