-- Claim and acknowledgement in fewer and cheaper statements, and both in one call.

-- Found by its token alone, a lease is never looked for in another index: whoever looks hides the state from the
-- planner (`state || ''`), which would else walk along any index of leases while it believes that there are none.
drop index mailbox.work_token;
create unique index work_token on mailbox.work (token) where token is not null;

-- Room on each page for what its rows become when they are claimed: a row that moves to another page is locked in the
-- log first, and written there in full.
alter table mailbox.work set (fillfactor = 35);

-- Lease ready messages. `p_bound` is a tag of the fair order below which nothing is looked for (null: look at
-- everything), which spares the claim the dead rows that a long transaction keeps alive (mechanics 18).
create or replace function mailbox.claim(
    p_tenant text, p_agent text, p_max integer, p_lease double precision, p_principal text, p_incarnation text,
    p_bound bigint
) returns table (
    id uuid, subscription text, subscription_version bigint, instruction text, envelopes json, priority integer,
    serial_key text, lineage json, context json, waited double precision, attempts integer, max_attempts integer,
    token bigint, leased_until timestamptz, hard_deadline timestamptz, seconds double precision, tag bigint,
    answered boolean
) language plpgsql volatile
-- Whatever it believes about the table, the planner shall look rows up by token and key, and take them in the order of
-- their index: a plan made for an empty table is kept when it is full. A page costs next to nothing to read: only so
-- are look-ups cheaper than to walk along an index, past the dead rows that a long transaction keeps.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_material = off set random_page_cost = 0.01 set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_at timestamptz;
    v_box record;
    v_bound bigint;
    v_max integer := p_max;
    v_free tid[] := '{}';
begin
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    v_at := clock_timestamp();
    -- One look, with a snapshot taken after the lock (mechanics 24), at all that decides what is done further down.
    select
        b.top_priority, b.concurrency, e.epoch << 40 as base,
        exists (select from mailbox.stop s where s.scope in ('*', p_tenant)) as stopped,
        exists (
            select from mailbox.work d
            where d.tenant_id = p_tenant and d.agent = p_agent and d.state = 'ready' and not d.due
                and d.ready_at <= v_at
        ) as late
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

    if v_box.concurrency is not null then
        -- Lock first, then look with a fresh snapshot: a slot taken a moment ago must not look free.
        -- A subquery that is no join looks each token up by itself.
        v_free := array(
            select s.ctid from mailbox.slot s
            where s.tenant_id = p_tenant and s.agent = p_agent and s.number <= v_box.concurrency
                and (select w.state from mailbox.work w where w.token = s.token limit 1) is distinct from 'leased'
            order by s.number limit p_max
            for update skip locked
        );
        v_free := array(
            select s.ctid from mailbox.slot s
            where s.ctid = any(v_free)
                and (select w.state from mailbox.work w where w.token = s.token limit 1) is distinct from 'leased'
        );
        v_max := cardinality(v_free);
        if v_max = 0 then
            return;
        end if;
    end if;

    v_bound := case
        when p_bound is null or v_box.late then -9223372036854775808
        else p_bound - v_box.top_priority * 20000::bigint
    end;
    -- The token must outlive a crash: whatever the server's setting, this commit is synchronous.
    perform set_config('synchronous_commit', 'on', true);

    return query
    with chosen as materialized (
        -- Locked by this very statement, so the place of a row is a sure name for it.
        select w.ctid as place, w.tenant_id, w.id from mailbox.work w
        where w.tenant_id = p_tenant and w.agent = p_agent and w.order_key >= v_bound
            and w.state = 'ready' and w.due and w.held_by is null and not w.behind
            and (w.give_up_at is null or w.give_up_at > v_at)
        order by w.order_key, w.id
        limit v_max
        for update skip locked
    ), leased as (
        update mailbox.work w set
            state = 'leased',
            token = v_box.base | nextval('mailbox.token_sequence'),
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
        where w.ctid = chosen.place
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
        from (select l.token, (v_free)[row_number() over ()] as place from leased l) taken
        where s.ctid = taken.place and v_box.concurrency is not null
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

drop function mailbox.ack(bigint[], text[], text[], text, text[], text);

-- Close leases as done; `p_name` null: in the name of who claimed. Answers the tokens of those that were live.
create function mailbox.ack(
    p_tokens bigint[], p_results text[], p_usages text[], p_tenant text, p_agents text[], p_name text
) returns bigint[] language plpgsql volatile
-- As in `claim`. A page costs next to nothing to read: only so is a look-up by token cheaper than to walk along all
-- leases, whatever the planner believes about their number.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set random_page_cost = 0.01 set plan_cache_mode = force_generic_plan
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
        where w.token = any(p_tokens) and w.state || '' = 'leased' and w.leased_until > v_at
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
            case
                when i.usage is not null
                    then ('{"result":' || coalesce(i.result, 'null') || ',"usage":' || i.usage || '}')::json
                when i.result is not null then ('{"result":' || i.result || '}')::json
            end
        from removed r
        cross join lateral (
            select p_results[place] as result, p_usages[place] as usage from array_position(p_tokens, r.token) as place
        ) i
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

-- Close the leases of what is done and lease what comes next: one round trip and one commit where each verb alone takes
-- its own. The first row answers the tokens that were live, the others are what was claimed: nothing when a token was
-- refused, since a claim would change why it was. What stands still is not claimed, but it is acknowledged. The stop's
-- lock comes first, as everywhere (mechanics 13).
create function mailbox.ack_and_claim(
    p_tokens bigint[], p_results text[], p_usages text[], p_reach text, p_agents text[], p_name text,
    p_tenant text, p_agent text, p_max integer, p_lease double precision, p_principal text, p_incarnation text,
    p_bound bigint
) returns table (
    id uuid, subscription text, subscription_version bigint, instruction text, envelopes json, priority integer,
    serial_key text, lineage json, context json, waited double precision, attempts integer, max_attempts integer,
    token bigint, leased_until timestamptz, hard_deadline timestamptz, seconds double precision, tag bigint,
    answered boolean, acked bigint[]
) language plpgsql volatile as $$
begin
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    acked := mailbox.ack(p_tokens, p_results, p_usages, p_reach, p_agents, p_name);
    return next;
    if cardinality(acked) < cardinality(p_tokens) then
        return;
    end if;
    return query
        select c.*, null::bigint[]
        from mailbox.claim(p_tenant, p_agent, p_max, p_lease, p_principal, p_incarnation, p_bound) c;
end
$$;

-- The acknowledgement inside the caller's own transaction, all that role `sereno_worker` may do. Anything but a
-- live lease raises SQLSTATE SR001 with the status as message, so that the caller's writes roll back with it.
create or replace function mailbox.ack_in_transaction(p_token bigint, p_result jsonb, p_usage jsonb) returns text
language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
    v_status text;
begin
    if octet_length(p_result::text) > 65536 or octet_length(p_usage::text) > 65536 then
        raise exception 'result or usage: expected at most 65536 bytes of JSON' using errcode = 'SR003';
    end if;
    if mailbox.ack(array[p_token], array[p_result::text], array[p_usage::text], null, null, null) <> '{}' then
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
