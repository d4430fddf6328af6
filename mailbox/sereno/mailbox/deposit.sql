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
-- Arguments: the flows (tenants, agents, subscriptions, messages of each, highest priority of each); the terms that
-- messages share (number of the flow, versions, instructions, priorities, attempts, seconds of lease, run and age);
-- then by message: id, number of its terms, how many of its flow come after it, ready times, serial keys,
-- envelopes, lineages, contexts. A column in which nothing stands may be empty.
with clock as materialized (
    select clock_timestamp() as at
), given as materialized (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::integer[]) with ordinality
        as f (tenant_id, agent, subscription, deposits, top_priority, nr)
), opened as (
    insert into mailbox.box as b (tenant_id, agent, top_priority)
    -- Only where there is something to write: a conflict would lock the row for every deposit.
    select g.tenant_id, g.agent, max(g.top_priority) from given g
    where not exists (
        select from mailbox.box o
        where o.tenant_id = g.tenant_id and o.agent = g.agent and o.top_priority >= g.top_priority
    )
    group by g.tenant_id, g.agent order by g.tenant_id, g.agent
    on conflict (tenant_id, agent) do update set top_priority = excluded.top_priority
        where b.top_priority < excluded.top_priority
), box as materialized (
    select i.tenant_id, i.agent, greatest(b.virtual_time, coalesce(first.tag, last.tag, 0)) as virtual_time
    from (select distinct tenant_id, agent from given) i
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
    select g.tenant_id, g.agent, g.subscription, b.virtual_time + 1000 * g.deposits, g.deposits
    from given g join box b using (tenant_id, agent)
    order by g.tenant_id, g.agent, g.subscription
    on conflict (tenant_id, agent, subscription) do update set
        last_tag = greatest(excluded.last_tag, f.last_tag + 1000 * excluded.deposits),
        deposits = f.deposits + excluded.deposits
    returning tenant_id, agent, subscription, last_tag
), terms as materialized (
    select t.*, g.tenant_id, g.agent, g.subscription, flow.last_tag
    from unnest(
        $6::integer[], $7::bigint[], $8::text[], $9::integer[], $10::integer[], $11::double precision[],
        $12::double precision[], $13::double precision[]
    ) with ordinality as t (
        flow, subscription_version, instruction, priority, max_attempts, lease_seconds, max_run_seconds,
        max_age_seconds, nr
    )
    join given g on g.nr = t.flow
    join flow using (tenant_id, agent, subscription)
), item as materialized (
    select i.*, case when serial_key is not null then nextval('mailbox.place_sequence') end as place
    from unnest(
        $14::uuid[], $15::integer[], $16::integer[], $17::timestamptz[], $18::text[], $19::text[], $20::text[], $21::text[]
    ) as i (
        id, terms, after_it, ready_at, serial_key, envelopes, lineage, context
    )
), deposited as (
    insert into mailbox.message (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority,
        order_key, ready_at, serial_key, place, max_attempts, lease_seconds, max_run_seconds, max_age_seconds,
        lineage, context, deposited_at
    )
    select
        t.tenant_id, i.id, t.agent, t.subscription, t.subscription_version, t.instruction, i.envelopes::json,
        t.priority, t.last_tag - 1000 * i.after_it - 20000::bigint * t.priority, coalesce(i.ready_at, clock.at),
        i.serial_key, i.place, t.max_attempts, t.lease_seconds, t.max_run_seconds, t.max_age_seconds,
        coalesce(i.lineage, '[]')::json, coalesce(i.context, '{}')::json, clock.at
    from item i join terms t on t.nr = i.terms, clock
    -- Not ON CONFLICT, which costs a record of the log for each row: of two that deposit the same message at the same
    -- time the second fails, and finds it when it tries again.
    where not exists (select from mailbox.message m where m.tenant_id = t.tenant_id and m.id = i.id)
    order by t.tenant_id, i.id
    returning
        tenant_id, id, agent, subscription, serial_key, place, order_key, ready_at, deposited_at, max_attempts,
        context ->> 'on_behalf_of' as on_behalf_of
), head as materialized (
    select distinct on (d.tenant_id, d.agent, d.serial_key) d.tenant_id, d.id
    from deposited d
    where d.serial_key is not null and not exists (
        select from mailbox.work w
        where w.tenant_id = d.tenant_id and w.agent = d.agent and w.serial_key = d.serial_key
    )
    order by d.tenant_id, d.agent, d.serial_key, d.place
)
insert into mailbox.work (
    tenant_id, id, agent, subscription, serial_key, place, behind, on_behalf_of, order_key, state, due, ready_at,
    max_attempts
)
select
    d.tenant_id, d.id, d.agent, d.subscription, d.serial_key, d.place,
    d.serial_key is not null and (d.tenant_id, d.id) not in (select h.tenant_id, h.id from head h),
    d.on_behalf_of, d.order_key, 'ready', d.ready_at <= d.deposited_at, d.ready_at, d.max_attempts
from deposited d
