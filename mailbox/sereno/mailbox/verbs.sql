-- name: claim_batch
-- Waiting work whose time has come is marked due beside the claim, so an idle poll stays one statement.
-- The answer always has a row: `promoted` says whether a second look is worth it.
-- Arguments: tenant, agent, max, lease seconds (null: the message's), principal, incarnation.
with clock as materialized (
    select clock_timestamp() as at
), epoch as materialized (
    -- The token must outlive a crash: whatever the server's setting, this commit is synchronous.
    select epoch << 40 as base, set_config('synchronous_commit', 'on', true) from mailbox.token_epoch
), waiting as materialized (
    select tenant_id, id from mailbox.work
    where tenant_id = $1 and agent = $2 and state = 'ready' and not due
        and ready_at <= (select at from clock)
    order by ready_at
    limit 500
    for update skip locked
), promoted as (
    update mailbox.work w set due = true
    from waiting where w.tenant_id = waiting.tenant_id and w.id = waiting.id
    returning 1
), chosen as materialized (
    select tenant_id, id from mailbox.work
    where tenant_id = $1 and agent = $2 and state = 'ready' and due and held_by = '{}'
        and (give_up_at is null or give_up_at > (select at from clock))
    order by order_key, seq
    limit $3
    for update skip locked
), leased as (
    update mailbox.work w set
        state = 'leased',
        token = (select base from epoch) | nextval('mailbox.token_sequence'),
        attempts = w.attempts + 1,
        ended = null,
        holder = $5,
        incarnation = $6,
        claimed_at = clock.at,
        first_claimed_at = coalesce(w.first_claimed_at, clock.at),
        give_up_at = coalesce(w.give_up_at, clock.at + make_interval(secs => w.max_age_seconds)),
        granted_seconds = coalesce($4, w.lease_seconds),
        hard_deadline = clock.at + make_interval(secs => w.max_run_seconds),
        leased_until = least(
            clock.at + make_interval(secs => coalesce($4, w.lease_seconds)),
            clock.at + make_interval(secs => w.max_run_seconds),
            coalesce(w.give_up_at, clock.at + make_interval(secs => w.max_age_seconds))
        )
    from chosen, clock
    where w.tenant_id = chosen.tenant_id and w.id = chosen.id
    returning w.*
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, data
    )
    select
        tenant_id, claimed_at, 'claimed', id, run_id, agent, token, holder, on_behalf_of,
        jsonb_build_object('lease_seconds', granted_seconds, 'incarnation', incarnation)
    from leased
    order by token
)
select
    p.promoted, m.id, m.tenant_id, m.agent, m.subscription, m.subscription_version, m.instruction,
    m.envelopes, m.priority, m.serial_key, m.lineage, m.context, m.deposited_at, m.ready_at, l.attempts,
    l.max_attempts, l.token, l.leased_until, l.hard_deadline, l.claimed_at,
    extract(epoch from l.leased_until - l.claimed_at)::double precision as seconds
from (select count(*) as promoted from promoted) p
left join (leased l join mailbox.message m on m.tenant_id = l.tenant_id and m.id = l.id) on true
order by l.order_key, l.seq

-- name: renew_batch
-- A lease with a pending cancel is not prolonged: it ends here, and the attempt is given back.
-- Arguments: tokens, progress, tenant and agents in reach (null: all), principal (null: the holder).
with clock as materialized (
    select clock_timestamp() as at
), live as materialized (
    select w.tenant_id, w.id, w.token, w.cancel, w.cancel_to, i.progress::jsonb as progress
    from unnest($1::bigint[], $2::text[]) as i (token, progress)
    join mailbox.work w on w.token = i.token and w.state = 'leased'
    where w.leased_until > (select at from clock)
        and ($3::text is null or w.tenant_id = $3) and ($4::text[] is null or w.agent = any($4))
    order by w.tenant_id, w.id
    for update of w
), renewed as (
    update mailbox.work w set
        leased_until = least(
            clock.at + make_interval(secs => w.granted_seconds), w.hard_deadline, w.give_up_at
        )
    from live, clock
    where w.tenant_id = live.tenant_id and w.id = live.id and live.cancel is null
    returning w.*, live.progress
), returned as (
    update mailbox.work w set
        state = 'ready', ended = 'cancelled', attempts = w.attempts - 1, due = true, ready_at = clock.at,
        cancel = null, cancel_to = null
    from live, clock
    where w.tenant_id = live.tenant_id and w.id = live.id and live.cancel_to = 'ready'
    returning w.*, live.cancel as cause
), removed as (
    delete from mailbox.work w using live
    where w.tenant_id = live.tenant_id and w.id = live.id and live.cancel_to = 'dead'
    returning w.*, live.cancel as cause
), closed as (
    insert into mailbox.closed (
        tenant_id, id, run_id, agent, subscription, state, reason, attempts, token, ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, 'dead', cause, attempts - 1, token, 'cancelled', clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, data
    )
    select
        tenant_id, clock.at, 'renewed', id, run_id, agent, token, coalesce($5, holder), on_behalf_of,
        case when progress is null then '{}' else jsonb_build_object('progress', progress) end
    from renewed, clock
    union all
    select
        tenant_id, clock.at, 'cancelled', id, run_id, agent, token, coalesce($5, holder), on_behalf_of,
        jsonb_build_object('cause', cause)
    from returned, clock
    union all
    select
        tenant_id, clock.at, 'died', id, run_id, agent, token, coalesce($5, holder), on_behalf_of,
        jsonb_build_object('reason', cause, 'after', 'cancelled')
    from removed, clock
)
select token, 'ok' as status, leased_until as until, 'leased' as state from renewed
union all
select token, 'cancelled', null, 'ready' from returned
union all
select token, 'cancelled', null, 'dead' from removed

-- name: ack_batch
-- Arguments: tokens, results, usages, tenant and agents in reach (null: all), principal (null: the holder).
with clock as materialized (
    select clock_timestamp() as at
), live as materialized (
    select w.tenant_id, w.id, w.token, i.result::jsonb as result, i.usage::jsonb as usage
    from unnest($1::bigint[], $2::text[], $3::text[]) as i (token, result, usage)
    join mailbox.work w on w.token = i.token and w.state = 'leased'
    where w.leased_until > (select at from clock)
        and ($4::text is null or w.tenant_id = $4) and ($5::text[] is null or w.agent = any($5))
    order by w.tenant_id, w.id
    for update of w
), removed as (
    delete from mailbox.work w using live
    where w.tenant_id = live.tenant_id and w.id = live.id
    returning w.*, live.result, live.usage
), closed as (
    insert into mailbox.closed (
        tenant_id, id, run_id, agent, subscription, state, attempts, token, ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, 'acked', attempts, token, null, clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, data
    )
    select
        tenant_id, clock.at, 'acked', id, run_id, agent, token, coalesce($6, holder), on_behalf_of,
        jsonb_strip_nulls(jsonb_build_object('usage', usage)) || jsonb_build_object('result', result)
    from removed, clock
)
select token, 'ok' as status, null::timestamptz as until, 'acked' as state from removed

-- name: release_batch
-- Arguments: tokens, reasons, retry-after seconds, tenant and agents in reach (null: all), principal
-- (null: the holder), minimum and maximum back-off in seconds.
with clock as materialized (
    select clock_timestamp() as at
), live as materialized (
    select
        w.tenant_id, w.id, w.token, i.reason,
        case
            when w.cancel_to = 'dead' then w.cancel
            when i.reason = 'rejected' or i.reason like 'rejected: %' then 'rejected'
            when i.reason = 'not_started' then null
            when w.attempts >= w.max_attempts then 'exhausted'
        end as dead_of,
        case when i.reason = 'not_started' then w.attempts - 1 else w.attempts end as attempts,
        (select at from clock) + make_interval(secs => case
            when i.reason = 'not_started' then 0
            when i.retry_after is not null then greatest($7, i.retry_after)
            else least($8, $7 * power(2, least(w.attempts - 1, 30)))
        end) as ready_at
    from unnest($1::bigint[], $2::text[], $3::double precision[]) as i (token, reason, retry_after)
    join mailbox.work w on w.token = i.token and w.state = 'leased'
    where w.leased_until > (select at from clock)
        and ($4::text is null or w.tenant_id = $4) and ($5::text[] is null or w.agent = any($5))
    order by w.tenant_id, w.id
    for update of w
), returned as (
    update mailbox.work w set
        state = 'ready', ended = 'released', attempts = live.attempts, ready_at = live.ready_at,
        due = live.ready_at <= clock.at, cancel = null, cancel_to = null
    from live, clock
    where w.tenant_id = live.tenant_id and w.id = live.id and live.dead_of is null
    returning w.*, live.reason
), removed as (
    delete from mailbox.work w using live
    where w.tenant_id = live.tenant_id and w.id = live.id and live.dead_of is not null
    returning w.*, live.reason, live.dead_of
), closed as (
    insert into mailbox.closed (
        tenant_id, id, run_id, agent, subscription, state, reason, attempts, token, ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, 'dead', dead_of, attempts, token, 'released', clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, data
    )
    select
        tenant_id, clock.at, 'released', id, run_id, agent, token, coalesce($6, holder), on_behalf_of,
        jsonb_build_object('reason', reason, 'ready_at', ready_at)
    from returned, clock
    union all
    select
        tenant_id, clock.at, 'died', id, run_id, agent, token, coalesce($6, holder), on_behalf_of,
        jsonb_build_object('reason', dead_of, 'after', 'released', 'detail', reason)
    from removed, clock
)
select
    token, 'ok' as status, null::timestamptz as until, 'ready' as state, tenant_id, id, agent,
    subscription, null as dead_of, due
from returned
union all
select token, 'ok', null, 'dead', tenant_id, id, agent, subscription, dead_of, false from removed

-- name: check_batch
-- Arguments: tokens, tenant and agents in reach (null: all).
select
    w.token, case when w.cancel is null then 'ok' else 'cancelled' end as status, w.leased_until as until,
    w.state
from mailbox.work w
where w.token = any($1::bigint[]) and w.state = 'leased'
    and w.leased_until > (select clock_timestamp())
    and ($2::text is null or w.tenant_id = $2) and ($3::text[] is null or w.agent = any($3))

-- name: refuse_batch
-- Why a token that is not live was refused: its claim is found in the log. What was issued to somebody
-- out of reach is as unknown as what was never issued. The refusal itself is logged.
-- Arguments: tokens, tenant and agents in reach (null: all), principal (null: the holder), verb.
with item as materialized (
    select token from unnest($1::bigint[]) as i (token)
), issued as materialized (
    select item.token, e.tenant_id, e.message_id, e.run_id, e.agent, e.principal, e.on_behalf_of
    from item
    cross join lateral (
        select * from mailbox.event e
        where e.token = item.token and e.kind = 'claimed'
            and ($2::text is null or e.tenant_id = $2) and ($3::text[] is null or e.agent = any($3))
        limit 1
    ) e
    where item.token <= (
        select ((select epoch from mailbox.token_epoch) << 40) | last_value from mailbox.token_sequence
    )
), judged as materialized (
    select
        issued.*,
        case
            when w.token is null and c.token is null then 'stale'
            when w.state = 'leased' or coalesce(w.ended, c.ended) = 'expired' then 'expired'
            when coalesce(w.ended, c.ended) = 'cancelled' then 'cancelled'
            else 'stale'
        end as status,
        case when w.state = 'leased' then null else coalesce(w.state, c.state) end as state
    from issued
    left join mailbox.work w
        on w.tenant_id = issued.tenant_id and w.id = issued.message_id and w.token = issued.token
    left join mailbox.closed c
        on c.tenant_id = issued.tenant_id and c.id = issued.message_id and c.token = issued.token
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, data
    )
    select
        tenant_id, clock_timestamp(), 'refused', message_id, run_id, agent, token,
        coalesce($4, principal), on_behalf_of, jsonb_build_object('refusal', status || '_' || $5::text)
    from judged
)
select
    item.token, coalesce(judged.status, 'unknown') as status, null::timestamptz as until, judged.state
from item left join judged using (token)
