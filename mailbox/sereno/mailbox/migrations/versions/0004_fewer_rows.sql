-- Claims and deposits that touch fewer rows: units of a limit share rows, messages are looked up by the batch, and
-- what was claimed is answered in columns.

-- What a lease is granted for stands beside it, so that a claim needs the message only for what it hands over.
alter table mailbox.work
    add column lease_seconds double precision,
    add column max_run_seconds double precision,
    add column max_age_seconds double precision;
update mailbox.work w set
    lease_seconds = m.lease_seconds, max_run_seconds = m.max_run_seconds, max_age_seconds = m.max_age_seconds
from mailbox.message m
where m.tenant_id = w.tenant_id and m.id = w.id;
alter table mailbox.work
    alter column lease_seconds set not null,
    alter column max_run_seconds set not null,
    alter column max_age_seconds set not null;

-- Only the log tells of these.
alter table mailbox.work drop column claimed_at, drop column first_claimed_at;

-- Two of one tag are taken in the order in which they were written.
drop index mailbox.work_ready;
create index work_ready on mailbox.work (tenant_id, agent, order_key)
    where state = 'ready' and due and held_by is null and not behind;

-- One index for both: each costs something at every row of the log.
drop index mailbox.event_at;
drop index mailbox.event_token;
create index event_when on mailbox.event using brin (at, token) with (pages_per_range = 16, autosummarize = on);

-- For which causes the messages of a subscription are held, also those that come back later.
create table mailbox.hold (
    tenant_id text not null,
    subscription text not null,
    cause text not null,
    cancel boolean not null,
    primary key (tenant_id, subscription, cause)
);
insert into mailbox.hold (tenant_id, subscription, cause, cancel)
select distinct w.tenant_id, w.subscription, c, w.cancel is not null
from mailbox.work w, unnest(w.held_by) as c
where c not like 'stop %'
on conflict do nothing;

-- A row carries some units of an agent's limit, at most 16, and the tokens that hold them; a unit is free when its
-- token is not that of a live lease. Up to a limit of 16 each unit has a row of its own.
drop table mailbox.slot;
create table mailbox.slot (
    tenant_id text not null,
    agent text not null,
    number integer not null,
    units integer not null check (units between 0 and 16),
    tokens bigint[] not null default '{}',
    primary key (tenant_id, agent, number)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- On how many rows the units of a limit lie.
create function mailbox.slot_rows(p_most integer) returns integer language sql immutable parallel safe as
    'select greatest(least(p_most, 16), (p_most + 15) / 16)';

-- Limit an agent to so many live leases (null: no limit). What is live already counts, also beyond the limit.
create function mailbox.set_limit(p_tenant text, p_agent text, p_most integer) returns void
language plpgsql volatile as $$
declare
    v_rows integer := mailbox.slot_rows(p_most);
    v_live bigint[];
begin
    insert into mailbox.box as b (tenant_id, agent, concurrency) values (p_tenant, p_agent, p_most)
    on conflict (tenant_id, agent) do update set concurrency = excluded.concurrency
        where b.concurrency is distinct from excluded.concurrency;
    if p_most is null then
        return;
    end if;
    insert into mailbox.slot (tenant_id, agent, number, units)
    select p_tenant, p_agent, n, 0 from generate_series(1, v_rows) as n
    on conflict do nothing;
    perform 1 from mailbox.slot s where s.tenant_id = p_tenant and s.agent = p_agent
    order by s.number for update;
    v_live := array(
        select w.token from mailbox.work w
        where w.tenant_id = p_tenant and w.agent = p_agent and w.state = 'leased' order by w.token
    );
    update mailbox.slot s set
        units = case
            when s.number <= v_rows then p_most / v_rows + case when s.number <= p_most % v_rows then 1 else 0 end
            else 0
        end,
        tokens = array(
            select l.token from unnest(v_live) with ordinality as l (token, nr)
            where (l.nr - 1) % nullif(v_rows, 0) + 1 = s.number
        )
    where s.tenant_id = p_tenant and s.agent = p_agent;
end
$$;

select mailbox.set_limit(b.tenant_id, b.agent, b.concurrency) from mailbox.box b where b.concurrency is not null;

drop function mailbox.ack_and_claim(
    bigint[], text[], text[], text, text[], text, text, text, integer, double precision, text, text, bigint
);
drop function mailbox.claim(text, text, integer, double precision, text, text, bigint);

-- Close leases as done, in the caller's planner settings; see `ack`.
create function mailbox.close_leases(
    p_tokens bigint[], p_results text[], p_usages text[], p_tenant text, p_agents text[], p_name text
) returns bigint[] language plpgsql volatile as $$
declare
    v_at timestamptz := clock_timestamp();
    v_tokens bigint[];
    v_tenants text[];
    v_agents text[];
    v_keys text[];
begin
    with removed as (
        -- In the order of ids, as whoever takes several rows (mechanics 13): a token changes, an id never does.
        delete from mailbox.work w
        using (
            select l.tenant_id, l.id from mailbox.work l
            where l.token = any(p_tokens) and l.state || '' = 'leased'
            order by l.id offset 0
        ) held
        where w.tenant_id = held.tenant_id and w.id = held.id
            and w.token = any(p_tokens) and w.state || '' = 'leased' and w.leased_until > v_at
            and (p_tenant is null or w.tenant_id = p_tenant) and (p_agents is null or w.agent = any(p_agents))
        returning
            w.tenant_id, w.id, w.run_id, w.agent, w.token, w.attempts, w.serial_key, w.on_behalf_of, w.holder
    ), logged as (
        insert into mailbox.event (
            tenant_id, at, kind, message_id, run_id, agent, token, attempts, principal, on_behalf_of, data
        )
        select
            r.tenant_id, v_at, 'acked', r.id, r.run_id, r.agent, r.token, r.attempts, coalesce(p_name, r.holder),
            r.on_behalf_of,
            case when p_results <> '{}' or p_usages <> '{}' then (
                select case
                    when p_usages[place] is not null then (
                        '{"result":' || coalesce(p_results[place], 'null') || ',"usage":' || p_usages[place] || '}'
                    )::json
                    when p_results[place] is not null then ('{"result":' || p_results[place] || '}')::json
                end
                from array_position(p_tokens, r.token) as place
            ) end
        from removed r
    )
    select
        array_agg(r.token), array_agg(r.tenant_id) filter (where r.serial_key is not null),
        array_agg(r.agent) filter (where r.serial_key is not null),
        array_agg(r.serial_key) filter (where r.serial_key is not null)
    into v_tokens, v_tenants, v_agents, v_keys
    from removed r;
    if v_keys is not null then
        perform mailbox.promote(v_tenants, v_agents, v_keys);
    end if;
    return coalesce(v_tokens, '{}');
end
$$;

-- Close leases as done; `p_name` null: in the name of who claimed. Answers the tokens of those that were live.
create or replace function mailbox.ack(
    p_tokens bigint[], p_results text[], p_usages text[], p_tenant text, p_agents text[], p_name text
) returns bigint[] language plpgsql volatile
-- Whatever it believes about the table, the planner shall look rows up by token and key: a plan made for an empty
-- table is kept when it is full. A page costs next to nothing to read: only so is a look-up by token cheaper than to
-- walk along all leases, whatever the planner believes about their number.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set random_page_cost = 0.01 set plan_cache_mode = force_generic_plan
as $$
begin
    return mailbox.close_leases(p_tokens, p_results, p_usages, p_tenant, p_agents, p_name);
end
$$;

-- Rows of slots that are free by what is committed, locked: of so many units in all, if there are as many. Each row is
-- looked at again after it was locked, with a fresh snapshot: what was taken a moment ago must not look free.
create function mailbox.take_slots(
    p_tenant text, p_agent text, p_most integer, p_max integer, out places tid[], out free integer[]
) language plpgsql volatile as $$
declare
    v_units integer := ceil(p_most::numeric / mailbox.slot_rows(p_most));
    v_last integer := 0;
    v_got integer := 0;
    v_step tid[];
    v_places tid[];
    v_free integer[];
    v_sum integer;
begin
    places := '{}';
    free := '{}';
    loop
        v_step := array(
            select s.ctid from mailbox.slot s
            where s.tenant_id = p_tenant and s.agent = p_agent and s.number > v_last and s.units > (
                select count(*) from mailbox.work w where w.token = any(s.tokens) and w.state || '' = 'leased'
            )
            order by s.number limit (p_max - v_got + v_units - 1) / v_units
            for update skip locked
        );
        if v_step = '{}' and v_got = 0 then
            -- Whoever holds the rest holds it only until it commits.
            v_step := array(
                select s.ctid from mailbox.slot s
                where s.tenant_id = p_tenant and s.agent = p_agent and s.number > v_last and s.units > (
                    select count(*) from mailbox.work w where w.token = any(s.tokens) and w.state || '' = 'leased'
                )
                order by s.number limit 1
                for update
            );
        end if;
        exit when v_step = '{}';
        select array_agg(s.place), array_agg(s.free), coalesce(max(s.number), v_last), coalesce(sum(s.free), 0)
        into v_places, v_free, v_last, v_sum
        from (
            select l.ctid as place, l.number, greatest(0, l.units - (
                select count(*)::integer from mailbox.work w
                where w.token = any(l.tokens) and w.state || '' = 'leased'
            )) as free
            from mailbox.slot l where l.ctid = any(v_step)
        ) s;
        places := places || v_places;
        free := free || v_free;
        v_got := v_got + v_sum;
        exit when v_got >= p_max or v_places is null;
    end loop;
end
$$;

-- Close the leases of what is done and lease what comes next: one round trip and one commit where each verb alone takes
-- its own; without tokens it is the claim alone. `acked` answers the tokens that were live. Nothing is claimed when
-- one was refused, since a claim would change why it was; what stands still is not claimed, but it is acknowledged.
-- `p_bound` is a tag of the fair order below which nothing is looked for (null: look at everything), which spares the
-- claim the dead rows that a long transaction keeps alive (mechanics 18).
-- What was claimed stands in columns, in its order: leases by `ids`, their messages by `keys`.
create function mailbox.ack_and_claim(
    p_tokens bigint[], p_results text[], p_usages text[], p_reach text, p_agents text[], p_name text,
    p_tenant text, p_agent text, p_max integer, p_lease double precision, p_principal text, p_incarnation text,
    p_bound bigint,
    out acked bigint[], out at timestamptz, out tag bigint, out ids uuid[], out tokens bigint[], out attempts integer[],
    out lasting double precision[], out running double precision[], out waiting double precision[],
    out answered uuid[], out keys uuid[], out subscriptions text[], out versions bigint[], out instructions text[],
    out envelopes json[], out priorities integer[], out serial_keys text[], out lineages json[], out contexts json[],
    out max_attempts integer[]
) language plpgsql volatile
-- As in `ack`. Rows are also taken in the order of their index: walking past dead rows is what a long transaction makes
-- slow.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_material = off set random_page_cost = 0.01 set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_at timestamptz;
    v_box record;
    v_bound bigint;
    v_max integer := p_max;
    v_places tid[];
    v_free integer[];
    v_first uuid;
    v_last uuid;
begin
    -- The stop's lock comes first, as everywhere (mechanics 13).
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    acked := '{}';
    if p_tokens <> '{}' then
        acked := mailbox.close_leases(p_tokens, p_results, p_usages, p_reach, p_agents, p_name);
        if cardinality(acked) < cardinality(p_tokens) then
            return;
        end if;
    end if;
    v_at := clock_timestamp();
    -- One look, with a snapshot taken after the lock (mechanics 24), at all that decides what is done further down.
    select
        b.top_priority, b.concurrency, b.virtual_time, b.stamped_at, e.epoch << 40 as base,
        exists (select from mailbox.stop s where s.scope in ('*', p_tenant)) as stopped,
        exists (
            select from mailbox.work d
            where d.tenant_id = p_tenant and d.agent = p_agent and d.state = 'ready' and not d.due
                and d.ready_at <= v_at
        ) as late,
        coalesce(p_bound - b.top_priority * 20000::bigint, -9223372036854775808) as bound
    into v_box
    from mailbox.token_epoch e join mailbox.box b on b.tenant_id = p_tenant and b.agent = p_agent;
    if not found or v_box.stopped then
        return;
    end if;

    if v_box.late then
        update mailbox.work w set due = true
        from (
            select d.tenant_id, d.id from mailbox.work d
            where d.tenant_id = p_tenant and d.agent = p_agent and d.state = 'ready' and not d.due
                and d.ready_at <= v_at
            order by d.ready_at limit 500
            for update skip locked
        ) waiting
        where w.tenant_id = waiting.tenant_id and w.id = waiting.id;
    end if;

    v_bound := case when v_box.late then -9223372036854775808 else v_box.bound end;
    -- An idle poll locks nothing.
    if not exists (
        select from mailbox.work c
        where c.tenant_id = p_tenant and c.agent = p_agent and c.order_key >= v_bound
            and c.state = 'ready' and c.due and c.held_by is null and not c.behind
            and (c.give_up_at is null or c.give_up_at > v_at)
        order by c.order_key limit 1
    ) then
        return;
    end if;
    if v_box.concurrency is not null then
        select s.places, s.free into v_places, v_free
        from mailbox.take_slots(p_tenant, p_agent, v_box.concurrency, p_max) s;
        v_max := least(p_max, (select coalesce(sum(f), 0) from unnest(v_free) as f));
        if v_max = 0 then
            return;
        end if;
    end if;
    -- The token must outlive a crash: whatever the server's setting, this commit is synchronous.
    if current_setting('synchronous_commit') <> 'on' then
        perform set_config('synchronous_commit', 'on', true);
    end if;

    with leased as (
        update mailbox.work w set
            state = 'leased',
            token = v_box.base | nextval('mailbox.token_sequence'),
            attempts = w.attempts + 1,
            ended = null,
            holder = p_principal,
            incarnation = p_incarnation,
            give_up_at = coalesce(w.give_up_at, v_at + make_interval(secs => w.max_age_seconds)),
            granted_seconds = coalesce(p_lease, w.lease_seconds),
            hard_deadline = v_at + make_interval(secs => w.max_run_seconds),
            leased_until = least(
                v_at + make_interval(secs => least(coalesce(p_lease, w.lease_seconds), w.max_run_seconds)),
                coalesce(w.give_up_at, v_at + make_interval(secs => w.max_age_seconds))
            )
        -- Locked by this very statement, so the place of a row is a sure name for it.
        where w.ctid = any(array(
            select c.ctid from mailbox.work c
            where c.tenant_id = p_tenant and c.agent = p_agent and c.order_key >= v_bound
                and c.state = 'ready' and c.due and c.held_by is null and not c.behind
                and (c.give_up_at is null or c.give_up_at > v_at)
            order by c.order_key
            limit v_max
            for update skip locked
        ))
        returning
            w.id, w.run_id, w.token, w.on_behalf_of, w.attempts, w.leased_until, w.hard_deadline, w.granted_seconds,
            w.order_key, w.answered, w.ready_at
    ), logged as (
        insert into mailbox.event (
            tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, seconds
        )
        select
            p_tenant, v_at, 'claimed', l.id, l.run_id, p_agent, l.token, p_principal, l.on_behalf_of,
            p_incarnation, l.granted_seconds
        from leased l
    )
    select
        array_agg(l.id), array_agg(l.token), array_agg(l.attempts), array_agg(l.lasting), array_agg(l.running),
        array_agg(l.waiting), array_agg(l.id) filter (where l.answered),
        min(l.id::text collate "C")::uuid, max(l.id::text collate "C")::uuid
    into ids, tokens, attempts, lasting, running, waiting, answered, v_first, v_last
    from (
        select
            l.id, l.token, l.attempts, l.answered,
            date_part('epoch', l.leased_until - v_at) as lasting,
            date_part('epoch', l.hard_deadline - v_at) as running,
            date_part('epoch', v_at - l.ready_at) as waiting
        from leased l
        order by l.order_key, l.id
    ) l;
    if ids is null then
        return;
    end if;

    if v_places is not null then
        update mailbox.slot s set tokens = array(
            select w.token from mailbox.work w
            where w.token = any(s.tokens) and w.state || '' = 'leased'
        ) || ack_and_claim.tokens[taken.skipped + 1 : taken.skipped + taken.free]
        from (
            select u.place, u.free, sum(u.free) over (order by u.nr) - u.free as skipped
            from unnest(v_places, v_free) with ordinality as u (place, free, nr)
        ) taken
        where s.ctid = taken.place and taken.skipped < cardinality(ack_and_claim.tokens);
    end if;

    -- One by one, which every planner does by the key of the day; only the days between the first and the last are opened.
    select
        array_agg(m.id), array_agg(m.subscription), array_agg(m.subscription_version), array_agg(m.instruction),
        array_agg(m.envelopes), array_agg(m.priority), array_agg(m.serial_key), array_agg(m.lineage),
        array_agg(m.context), array_agg(m.max_attempts),
        max(m.order_key + m.priority * 20000::bigint)
    into keys, subscriptions, versions, instructions, envelopes, priorities, serial_keys, lineages, contexts,
        max_attempts, tag
    from unnest(ids) as i
    cross join lateral (
        select * from mailbox.message m
        where m.tenant_id = p_tenant and m.id = i and m.id >= v_first and m.id <= v_last offset 0
    ) m;
    at := v_at;

    -- How far the fair order has come. Whoever finds the row locked leaves it to the other.
    if v_box.virtual_time < tag and v_box.stamped_at < v_at - interval '20 milliseconds' then
        update mailbox.box b set virtual_time = ack_and_claim.tag, stamped_at = v_at
        from (
            select 1 from mailbox.box f where f.tenant_id = p_tenant and f.agent = p_agent for update skip locked
        ) free
        where b.tenant_id = p_tenant and b.agent = p_agent and b.virtual_time < ack_and_claim.tag;
    end if;
end
$$;

-- Prolong leases, in the caller's order of locks: first the rows in the order of their ids, then, with a snapshot that
-- sees what they became meanwhile, what is to be done to each. A lease with a pending cancel is not prolonged: it ends
-- here, and the attempt is given back.
create function mailbox.renew(
    p_tokens bigint[], p_progress text[], p_tenant text, p_agents text[], p_name text
) returns table (
    token bigint, status text, until timestamptz, state text, tenant_id text, agent text, serial_key text
) language plpgsql volatile
-- As in `ack`.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set random_page_cost = 0.01 set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_at timestamptz;
begin
    perform 1
    from (
        select l.tenant_id, l.id from mailbox.work l
        where l.token = any(p_tokens) and l.state || '' = 'leased'
        order by l.id offset 0
    ) held
    cross join lateral (
        select 1 from mailbox.work w where w.tenant_id = held.tenant_id and w.id = held.id for update
    ) locked;
    v_at := clock_timestamp();
    return query
    with live as materialized (
        select
            w.ctid as place, w.cancel, w.cancel_to,
            case when p_progress <> '{}' then p_progress[array_position(p_tokens, w.token)]::json end as progress
        from mailbox.work w
        where w.token = any(p_tokens) and w.state || '' = 'leased' and w.leased_until > v_at
            and (p_tenant is null or w.tenant_id = p_tenant) and (p_agents is null or w.agent = any(p_agents))
    ), renewed as (
        update mailbox.work w set
            leased_until = least(v_at + make_interval(secs => w.granted_seconds), w.hard_deadline, w.give_up_at)
        from live
        where w.ctid = live.place and live.cancel is null
        returning w.*, live.progress
    ), returned as (
        update mailbox.work w set
            state = 'ready', ended = 'cancelled', attempts = w.attempts - 1, due = true, ready_at = v_at,
            cancel = null, cancel_to = null
        from live
        where w.ctid = live.place and live.cancel_to = 'ready'
        returning w.*, live.cancel as cause
    ), removed as (
        delete from mailbox.work w using live
        where w.ctid = live.place and live.cancel_to = 'dead'
        returning w.*, live.cancel as cause
    ), closed as (
        insert into mailbox.dead (
            tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, reason, attempts, max_attempts,
            token, ended, closed_at
        )
        select
            r.tenant_id, r.id, r.run_id, r.agent, r.subscription, r.serial_key, r.on_behalf_of, r.cause,
            r.attempts - 1, r.max_attempts, r.token, 'cancelled', v_at
        from removed r
    ), logged as (
        insert into mailbox.event (
            tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, data
        )
        select
            r.tenant_id, v_at, 'renewed', r.id, r.run_id, r.agent, r.token, coalesce(p_name, r.holder),
            r.on_behalf_of, null,
            case when r.progress is not null then json_build_object('progress', r.progress) end
        from renewed r
        union all
        select
            r.tenant_id, v_at, 'cancelled', r.id, r.run_id, r.agent, r.token, coalesce(p_name, r.holder),
            r.on_behalf_of, r.cause, null
        from returned r
        union all
        select
            r.tenant_id, v_at, 'died', r.id, r.run_id, r.agent, r.token, coalesce(p_name, r.holder),
            r.on_behalf_of, r.cause, json_build_object('after', 'cancelled')
        from removed r
    )
    select r.token, 'ok', r.leased_until, 'leased', r.tenant_id, r.agent, null from renewed r
    union all
    select r.token, 'cancelled', null, 'ready', r.tenant_id, r.agent, null from returned r
    union all
    select r.token, 'cancelled', null, 'dead', r.tenant_id, r.agent, r.serial_key from removed r;
end
$$;

-- Write messages and their work. The flows of what comes in are locked first; what is there already is looked for only
-- then, so that of two who deposit the same at once the second finds it. The order key is fixed here (mechanics 21):
-- one place of 1000 after the last of its subscription, or after how far the mailbox has come; 20 places earlier per
-- step of priority, which is also the ageing. Only the first of a serial key is not behind another.
-- Arguments: the flows (tenants, agents, subscriptions, messages of each, highest priority of each); the terms that
-- messages share (number of the flow, versions, instructions, priorities, attempts, seconds of lease, run and age);
-- then by message: id, number of its terms, how many of its flow come after it, ready times, serial keys, on whose
-- behalf, envelopes, lineages, contexts. A column in which nothing stands may be empty.
create function mailbox.deposit(
    p_tenants text[], p_agents text[], p_subscriptions text[], p_deposits bigint[], p_tops integer[],
    p_flows integer[], p_versions bigint[], p_instructions text[], p_priorities integer[], p_attempts integer[],
    p_leases double precision[], p_runs double precision[], p_ages double precision[],
    p_ids uuid[], p_terms integer[], p_after integer[], p_ready timestamptz[], p_keys text[], p_behalf text[],
    p_envelopes text[], p_lineages text[], p_contexts text[]
) returns void language plpgsql volatile
-- Whatever it believes about tables that were empty a moment ago, the planner shall look rows up by their keys.
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set random_page_cost = 0.01 set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_at timestamptz;
    v_tags bigint[];
    v_first uuid;
    v_last uuid;
    v_new boolean;
begin
    insert into mailbox.box as b (tenant_id, agent, top_priority)
    -- Only where there is something to write: a conflict would lock the row for every deposit.
    select g.tenant_id, g.agent, max(g.top_priority)
    from unnest(p_tenants, p_agents, p_tops) as g (tenant_id, agent, top_priority)
    where coalesce(
        (select o.top_priority from mailbox.box o where o.tenant_id = g.tenant_id and o.agent = g.agent) < g.top_priority,
        true
    )
    group by g.tenant_id, g.agent order by g.tenant_id, g.agent
    on conflict (tenant_id, agent) do update set top_priority = excluded.top_priority
        where b.top_priority < excluded.top_priority;

    with given as materialized (
        select * from unnest(p_tenants, p_agents, p_subscriptions, p_deposits) with ordinality
            as f (tenant_id, agent, subscription, deposits, nr)
    ), box as materialized (
        select i.tenant_id, i.agent, greatest(b.virtual_time, coalesce(first.tag, last.tag, 0)) as virtual_time
        from (select distinct tenant_id, agent from given) i
        left join lateral (
            select b.virtual_time from mailbox.box b where b.tenant_id = i.tenant_id and b.agent = i.agent
        ) b on true
        left join lateral (
            select w.order_key as tag from mailbox.work w
            where w.tenant_id = i.tenant_id and w.agent = i.agent and w.state = 'ready' and w.due
                and w.held_by is null and not w.behind and w.order_key >= coalesce(b.virtual_time, 0)
            order by w.order_key
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
    )
    select array_agg(flow.last_tag order by g.nr) into v_tags
    from given g join flow using (tenant_id, agent, subscription);

    select (array_agg(i order by i))[1], (array_agg(i order by i desc))[1] into v_first, v_last from unnest(p_ids) as i;
    v_new := not exists (
        select from mailbox.message m
        where m.tenant_id = any(p_tenants) and m.id = any(p_ids) and m.id >= v_first and m.id <= v_last
    );
    v_at := clock_timestamp();

    with item as materialized (
        select
            p_tenants[i.flow] as tenant_id, i.id, p_agents[i.flow] as agent, p_subscriptions[i.flow] as subscription,
            p_versions[i.terms] as version, p_instructions[i.terms] as instruction, i.envelopes::json as envelopes,
            p_priorities[i.terms] as priority,
            v_tags[i.flow] - 1000 * i.after_it - 20000::bigint * p_priorities[i.terms] as order_key,
            coalesce(i.ready_at, v_at) as ready_at, i.serial_key,
            case when i.serial_key is not null then nextval('mailbox.place_sequence') end as place,
            p_attempts[i.terms] as attempts, p_leases[i.terms] as lease, p_runs[i.terms] as run, p_ages[i.terms] as age,
            coalesce(i.lineage, '[]')::json as lineage,
            coalesce(i.context, '{}')::json as context, i.on_behalf_of
        from (
            select p_flows[i.terms] as flow, i.*
            from unnest(
                p_ids, p_terms, p_after, p_ready, p_keys, p_behalf, p_envelopes, p_lineages, p_contexts
            ) as i (id, terms, after_it, ready_at, serial_key, on_behalf_of, envelopes, lineage, context)
        ) i
        where v_new or not exists (
            select from mailbox.message m where m.tenant_id = p_tenants[i.flow] and m.id = i.id
        )
    ), deposited as (
        insert into mailbox.message (
            tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority,
            order_key, ready_at, serial_key, place, max_attempts, lease_seconds, max_run_seconds, max_age_seconds,
            lineage, context, deposited_at
        )
        select
            d.tenant_id, d.id, d.agent, d.subscription, d.version, d.instruction, d.envelopes, d.priority,
            d.order_key, d.ready_at, d.serial_key, d.place, d.attempts, d.lease, d.run, d.age, d.lineage, d.context,
            v_at
        from item d
    ), head as materialized (
        select distinct on (d.tenant_id, d.agent, d.serial_key) d.tenant_id, d.id
        from item d
        where d.serial_key is not null and not exists (
            select from mailbox.work w
            where w.tenant_id = d.tenant_id and w.agent = d.agent and w.serial_key = d.serial_key
        )
        order by d.tenant_id, d.agent, d.serial_key, d.place
    )
    insert into mailbox.work (
        tenant_id, id, agent, subscription, serial_key, place, behind, on_behalf_of, order_key, state, due, ready_at,
        max_attempts, lease_seconds, max_run_seconds, max_age_seconds
    )
    select
        d.tenant_id, d.id, d.agent, d.subscription, d.serial_key, d.place,
        d.serial_key is not null and (d.tenant_id, d.id) not in (select h.tenant_id, h.id from head h),
        d.on_behalf_of, d.order_key, 'ready', d.ready_at <= v_at, d.ready_at, d.attempts, d.lease, d.run, d.age
    from item d;
end
$$;
