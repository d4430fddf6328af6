-- The key of the stop's lock; one for the whole database.
create function mailbox.stop_key() returns bigint language sql immutable parallel safe as 'select 7306925114950013::bigint';

-- Which of these tenants stand still. The caller's transaction holds the lock until it ends, so a stop that
-- returned lets nothing through: the lock first, then the rows with a snapshot taken after it (mechanics 24).
create function mailbox.stopped(p_tenants text[]) returns setof text language plpgsql volatile as $$
begin
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    return query
        select t from unnest(p_tenants) as t
        where exists (select from mailbox.stop s where s.scope in ('*', t));
end
$$;

-- Lease ready messages. `p_bound` is a tag of the fair order below which nothing is looked for (null: look at
-- everything), which spares the claim the dead rows that a long transaction keeps alive (mechanics 18).
create function mailbox.claim(
    p_tenant text, p_agent text, p_max integer, p_lease double precision, p_principal text, p_incarnation text,
    p_bound bigint
) returns table (
    id uuid, subscription text, subscription_version bigint, instruction text, envelopes json, priority integer,
    serial_key text, lineage json, context json, waited double precision, attempts integer, max_attempts integer,
    token bigint, leased_until timestamptz, hard_deadline timestamptz, seconds double precision, tag bigint,
    answered boolean
) language plpgsql volatile
-- Whatever it believes about the table, the planner shall look rows up by token and key: a plan made for an empty
-- table is kept when it is full, and walking an index past dead rows is what a long transaction makes slow.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_at timestamptz;
    v_base bigint;
    v_box record;
    v_bound bigint;
    v_max integer := p_max;
    v_free integer[] := '{}';
    v_promoted bigint;
begin
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    if exists (select from mailbox.stop s where s.scope in ('*', p_tenant)) then
        return;
    end if;
    select b.virtual_time, b.top_priority, b.concurrency, b.stamped_at into v_box
    from mailbox.box b where b.tenant_id = p_tenant and b.agent = p_agent;
    if not found then
        return;
    end if;
    v_at := clock_timestamp();

    update mailbox.work w set due = true
    from (
        select d.tenant_id, d.id from mailbox.work d
        where d.tenant_id = p_tenant and d.agent = p_agent and d.state = 'ready' and not d.due and d.ready_at <= v_at
        order by d.ready_at limit 500
        for update skip locked
    ) waiting
    where w.tenant_id = waiting.tenant_id and w.id = waiting.id;
    get diagnostics v_promoted = row_count;

    if v_box.concurrency is not null then
        -- Lock first, then look with a fresh snapshot: a slot taken a moment ago must not look free.
        select coalesce(array_agg(free.number), '{}') into v_free from (
            select s.number from mailbox.slot s
            where s.tenant_id = p_tenant and s.agent = p_agent and s.number <= v_box.concurrency
                and not exists (select from mailbox.work w where w.token = s.token and w.state = 'leased')
            order by s.number limit p_max
            for update skip locked
        ) free;
        select coalesce(array_agg(s.number), '{}') into v_free from mailbox.slot s
        where s.tenant_id = p_tenant and s.agent = p_agent and s.number = any(v_free)
            and not exists (select from mailbox.work w where w.token = s.token and w.state = 'leased');
        v_max := cardinality(v_free);
        if v_max = 0 then
            return;
        end if;
    end if;

    v_bound := case
        when p_bound is null or v_promoted > 0 then -9223372036854775808
        else p_bound - v_box.top_priority * 20000::bigint
    end;
    -- The token must outlive a crash: whatever the server's setting, this commit is synchronous.
    select epoch << 40 into v_base from mailbox.token_epoch;
    perform set_config('synchronous_commit', 'on', true);

    return query
    with chosen as materialized (
        select w.tenant_id, w.id from mailbox.work w
        where w.tenant_id = p_tenant and w.agent = p_agent and w.order_key >= v_bound
            and w.state = 'ready' and w.due and w.held_by is null and not w.behind
            and (w.give_up_at is null or w.give_up_at > v_at)
        order by w.order_key, w.id
        limit v_max
        for update skip locked
    ), leased as (
        update mailbox.work w set
            state = 'leased',
            token = v_base | nextval('mailbox.token_sequence'),
            attempts = w.attempts + 1,
            ended = null,
            holder = p_principal,
            incarnation = p_incarnation,
            claimed_at = v_at,
            first_claimed_at = coalesce(w.first_claimed_at, v_at),
            give_up_at = coalesce(w.give_up_at, v_at + make_interval(secs => m.max_age_seconds)),
            granted_seconds = coalesce(p_lease, m.lease_seconds),
            hard_deadline = v_at + make_interval(secs => m.max_run_seconds),
            leased_until = least(
                v_at + make_interval(secs => least(coalesce(p_lease, m.lease_seconds), m.max_run_seconds)),
                coalesce(w.give_up_at, v_at + make_interval(secs => m.max_age_seconds))
            )
        from chosen join mailbox.message m on m.tenant_id = chosen.tenant_id and m.id = chosen.id
        where w.tenant_id = chosen.tenant_id and w.id = chosen.id
        returning
            w.id, w.run_id, w.token, w.on_behalf_of, w.attempts, w.max_attempts, w.leased_until, w.hard_deadline,
            w.granted_seconds, w.order_key, w.serial_key, w.answered, w.ready_at, m.deposited_at, m.subscription,
            m.subscription_version, m.instruction, m.envelopes, m.priority, m.lineage, m.context
    ), logged as (
        insert into mailbox.event (
            tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, seconds
        )
        select
            p_tenant, v_at, 'claimed', l.id, l.run_id, p_agent, l.token, p_principal, l.on_behalf_of,
            p_incarnation, l.granted_seconds
        from leased l
    ), stamped as (
        -- How far the fair order has come. Whoever finds the row locked leaves it to the other.
        update mailbox.box b set virtual_time = top.tag, stamped_at = v_at
        from (select max(l.order_key + l.priority * 20000::bigint) as tag from leased l) top,
            (
                select 1 from mailbox.box f where f.tenant_id = p_tenant and f.agent = p_agent for update skip locked
            ) free
        where b.tenant_id = p_tenant and b.agent = p_agent and b.virtual_time < top.tag
            and b.stamped_at < v_at - interval '20 milliseconds'
    ), slotted as (
        update mailbox.slot s set token = taken.token
        from (select l.token, (v_free)[row_number() over ()] as number from leased l) taken
        where s.tenant_id = p_tenant and s.agent = p_agent and s.number = taken.number and v_box.concurrency is not null
    )
    select
        l.id, l.subscription, l.subscription_version, l.instruction, l.envelopes, l.priority, l.serial_key,
        l.lineage, l.context, extract(epoch from v_at - greatest(l.deposited_at, l.ready_at))::double precision,
        l.attempts, l.max_attempts, l.token, l.leased_until, l.hard_deadline,
        extract(epoch from l.leased_until - v_at)::double precision, l.order_key + l.priority * 20000::bigint,
        l.answered
    from leased l
    order by l.order_key, l.id;
end
$$;

-- Let the next of each line step forward, once its head is closed. A next one that somebody else holds locked
-- is left to the reaper, which looks at stalled lines.
create function mailbox.promote(p_tenants text[], p_agents text[], p_keys text[]) returns void
language plpgsql volatile as $$
declare
    v_line record;
    v_next record;
begin
    perform 1 from mailbox.serial_slot s
    join (select distinct * from unnest(p_tenants, p_agents, p_keys) as i (tenant_id, agent, serial_key)) i
        using (tenant_id, agent, serial_key)
    order by s.tenant_id, s.agent, s.serial_key
    for update of s;
    for v_line in
        select distinct * from unnest(p_tenants, p_agents, p_keys) as i (tenant_id, agent, serial_key)
    loop
        select w.id, w.behind into v_next from mailbox.work w
        where w.tenant_id = v_line.tenant_id and w.agent = v_line.agent and w.serial_key = v_line.serial_key
        order by w.place limit 1;
        if found and v_next.behind then
            perform 1 from mailbox.work w where w.tenant_id = v_line.tenant_id and w.id = v_next.id
            for update skip locked;
            if found then
                update mailbox.work w set behind = false where w.tenant_id = v_line.tenant_id and w.id = v_next.id;
            end if;
            update mailbox.serial_slot s set stalled = not found
            where s.tenant_id = v_line.tenant_id and s.agent = v_line.agent and s.serial_key = v_line.serial_key;
        end if;
    end loop;
end
$$;

-- Close leases as done; `p_name` null: in the name of who claimed. Answers those that were live, the others not.
create function mailbox.ack(
    p_tokens bigint[], p_results text[], p_usages text[], p_tenant text, p_agents text[], p_name text
) returns table (token bigint) language plpgsql volatile
-- Whatever it believes about the table, the planner shall look rows up by token and key: a plan made for an empty
-- table is kept when it is full, and walking an index past dead rows is what a long transaction makes slow.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_at timestamptz := clock_timestamp();
    v_tokens bigint[];
    v_tenants text[];
    v_agents text[];
    v_keys text[];
begin
    with removed as (
        delete from mailbox.work w
        using unnest(p_tokens, p_results, p_usages) as i (token, result, usage)
        where w.token = i.token and w.state = 'leased' and w.leased_until > v_at
            and (p_tenant is null or w.tenant_id = p_tenant) and (p_agents is null or w.agent = any(p_agents))
        returning
            w.tenant_id, w.id, w.run_id, w.agent, w.token, w.attempts, w.serial_key, w.on_behalf_of, w.holder,
            w.answered, i.result, i.usage
    ), logged as (
        insert into mailbox.event (
            tenant_id, at, kind, message_id, run_id, agent, token, attempts, principal, on_behalf_of, data
        )
        select
            r.tenant_id, v_at, 'acked', r.id, r.run_id, r.agent, r.token, r.attempts, coalesce(p_name, r.holder),
            r.on_behalf_of,
            case
                when r.usage is not null
                    then ('{"result":' || coalesce(r.result, 'null') || ',"usage":' || r.usage || '}')::json
                when r.result is not null then ('{"result":' || r.result || '}')::json
            end
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
    return query select t from unnest(v_tokens) as t;
end
$$;

-- The acknowledgement inside the caller's own transaction, all that role `sereno_worker` may do. Anything but a
-- live lease raises SQLSTATE SR001 with the status as message, so that the caller's writes roll back with it.
create function mailbox.ack_in_transaction(p_token bigint, p_result jsonb, p_usage jsonb) returns text
language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
    v_status text;
begin
    if octet_length(p_result::text) > 65536 or octet_length(p_usage::text) > 65536 then
        raise exception 'result or usage: expected at most 65536 bytes of JSON' using errcode = 'SR003';
    end if;
    perform 1 from mailbox.ack(array[p_token], array[p_result::text], array[p_usage::text], null, null, null);
    if found then
        return 'ok';
    end if;
    select case
        when w.state = 'leased' and w.leased_until <= clock_timestamp() or w.ended = 'expired' then 'expired'
        when w.ended = 'cancelled' then 'cancelled'
        else 'stale'
    end into v_status
    from mailbox.event e
    left join mailbox.work w on w.tenant_id = e.tenant_id and w.id = e.message_id and w.token = e.token
    where e.token = p_token and e.kind = 'claimed'
    limit 1;
    raise exception '%', coalesce(v_status, 'unknown') using errcode = 'SR001';
end
$$;
