-- name: claim
-- Arguments: tenant, agent, max, lease seconds (null: the message's), principal, incarnation, lower bound.
select * from mailbox.ack_and_claim('{}', '{}', '{}', null, null, null, $1, $2, $3, $4, $5, $6, $7)

-- name: answers
-- Arguments: tenant, message ids.
select message_id, at, waiting_for, answer, principal
from mailbox.answer
where tenant_id = $1 and message_id = any($2::uuid[])
order by message_id, number

-- name: renew_batch
-- A lease with a pending cancel is not prolonged: it ends here, and the attempt is given back.
-- Arguments: tokens, progress (empty: none), tenant and agents in reach (null: all), principal (null: the holder).
select * from mailbox.renew($1, $2, $3, $4, $5)

-- name: ack_batch
-- Arguments: tokens, results, usages (empty: none has any), tenant and agents in reach (null: all), principal
-- (null: the holder).
select mailbox.ack($1, $2, $3, $4, $5, $6)

-- name: ack_and_claim
-- One row: what was acknowledged, and what was claimed in columns. Arguments: those of ack_batch, then those of claim.
select * from mailbox.ack_and_claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)

-- name: release_batch
-- `lateral … limit 1` makes every plan look rows up one by one; they are locked in the order of their ids (mechanics 13).
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
    from (
        select i.*, l.tenant_id, l.id
        from unnest($1::bigint[], $2::text[], $3::double precision[]) as i (token, reason, retry_after)
        cross join lateral (
            select * from mailbox.work l where l.token = i.token and l.state || '' = 'leased' limit 1
        ) l
        order by l.id offset 0
    ) i
    cross join lateral (
        select * from mailbox.work w
        where w.tenant_id = i.tenant_id and w.id = i.id and w.token = i.token and w.state = 'leased'
        limit 1 for update
    ) w
    where w.leased_until > (select at from clock)
        and ($4::text is null or w.tenant_id = $4) and ($5::text[] is null or w.agent = any($5))
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
    insert into mailbox.dead (
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, reason, attempts, max_attempts, token,
        ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, dead_of, attempts, max_attempts, token,
        'released', clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, until, data
    )
    select
        tenant_id, clock.at, 'released', id, run_id, agent, token, coalesce($6, holder), on_behalf_of, reason,
        ready_at, null
    from returned, clock
    union all
    select
        tenant_id, clock.at, 'died', id, run_id, agent, token, coalesce($6, holder), on_behalf_of, dead_of, null,
        json_build_object('after', 'released', 'detail', reason)
    from removed, clock
)
select
    token, 'ok' as status, null::timestamptz as until, 'ready' as state, tenant_id, id, agent, subscription,
    null as serial_key, null as dead_of, due
from returned
union all
select token, 'ok', null, 'dead', tenant_id, id, agent, subscription, serial_key, dead_of, false from removed

-- name: park_batch
-- The attempt is given back, and age stands still until the answer. A withdrawn lease cannot be parked.
-- Arguments: tokens, what is waited for, questions, options, dependencies, deadlines, reminders in seconds,
-- tenant and agents in reach (null: all), principal (null: the holder).
with clock as materialized (
    select clock_timestamp() as at
), live as materialized (
    select i.*
    from (
        select l.tenant_id, l.id, i.*
        from unnest(
            $1::bigint[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::timestamptz[], $7::double precision[]
        ) as i (token, waiting_for, question, options, dependency, deadline, remind_after)
        cross join lateral (
            select * from mailbox.work l where l.token = i.token and l.state || '' = 'leased' limit 1
        ) l
        order by l.id offset 0
    ) i
    cross join lateral (
        select * from mailbox.work w
        where w.tenant_id = i.tenant_id and w.id = i.id and w.token = i.token and w.state = 'leased'
        limit 1 for update
    ) w
    where w.leased_until > (select at from clock) and w.cancel_to is distinct from 'dead'
        and ($8::text is null or w.tenant_id = $8) and ($9::text[] is null or w.agent = any($9))
), parked as (
    update mailbox.work w set
        state = 'parked', ended = 'parked', attempts = w.attempts - 1, still_since = coalesce(w.still_since, clock.at),
        cancel = null, cancel_to = null
    from live, clock
    where w.tenant_id = live.tenant_id and w.id = live.id
    returning w.*, live.waiting_for, live.deadline, live.question, live.options
), waiting as (
    insert into mailbox.parked (
        tenant_id, id, waiting_for, question, options, dependency, deadline, remind_after, remind_at
    )
    select
        tenant_id, id, waiting_for, question, options::json, dependency, deadline, remind_after,
        clock.at + make_interval(secs => remind_after)
    from live, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, until, data
    )
    select
        p.tenant_id, clock.at, 'parked', p.id, p.run_id, p.agent, p.token, coalesce($10, p.holder), p.on_behalf_of,
        p.waiting_for, p.deadline,
        json_build_object('question', l.question, 'options', l.options::json, 'dependency', l.dependency,
            'remind_after', l.remind_after)
    from parked p join live l on l.tenant_id = p.tenant_id and l.id = p.id, clock
)
select token, 'ok' as status, deadline as until, 'parked' as state, tenant_id, id, agent, subscription,
    waiting_for, question, options::json as options
from parked

-- name: resume
-- Arguments: tenants, ids, answers, principal.
with clock as materialized (
    select clock_timestamp() as at
), found as materialized (
    select w.tenant_id, w.id, i.answer
    from unnest($1::text[], $2::uuid[], $3::text[]) as i (tenant_id, id, answer)
    join mailbox.work w on w.tenant_id = i.tenant_id and w.id = i.id and w.state = 'parked'
    order by w.id
    for update of w
), waited as (
    delete from mailbox.parked p using found where p.tenant_id = found.tenant_id and p.id = found.id
    returning p.tenant_id, p.id, p.waiting_for, found.answer
), resumed as (
    update mailbox.work w set
        state = 'ready', due = true, ready_at = clock.at, answered = true,
        give_up_at = case when w.held_by is null then w.give_up_at + (clock.at - w.still_since) else w.give_up_at end,
        still_since = case when w.held_by is null then null else w.still_since end
    from found, clock
    where w.tenant_id = found.tenant_id and w.id = found.id
    returning w.*
), answered as (
    insert into mailbox.answer (tenant_id, message_id, run_id, at, waiting_for, answer, principal)
    select r.tenant_id, r.id, r.run_id, clock.at, v.waiting_for, v.answer::json, $4
    from resumed r join waited v on v.tenant_id = r.tenant_id and v.id = r.id, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, data
    )
    select
        r.tenant_id, clock.at, 'resumed', r.id, r.run_id, r.agent, r.token, $4, r.on_behalf_of, v.waiting_for,
        json_build_object('answer', v.answer::json)
    from resumed r join waited v on v.tenant_id = r.tenant_id and v.id = r.id, clock
)
select tenant_id, agent, id from resumed

-- name: check_batch
-- Arguments: tokens, tenant and agents in reach (null: all).
select
    w.token, case when w.cancel is null then 'ok' else 'cancelled' end as status, w.leased_until as until,
    w.state
from mailbox.work w
where w.token = any($1::bigint[]) and w.state || '' = 'leased'
    and w.leased_until > (select clock_timestamp())
    and ($2::text is null or w.tenant_id = $2) and ($3::text[] is null or w.agent = any($3))

-- name: hold_live
-- The live leases of these tokens, kept as they are until the transaction ends.
-- Arguments: tokens, tenant and agents in reach (null: all).
select
    w.token, w.tenant_id, w.id, coalesce(w.run_id, w.id) as run_id, w.agent, w.holder, w.on_behalf_of, m.subscription,
    m.lineage, m.envelopes, m.context
from mailbox.work w
join mailbox.message m on m.tenant_id = w.tenant_id and m.id = w.id
where w.token = any($1::bigint[]) and w.state || '' = 'leased' and w.cancel is null
    and w.leased_until > (select clock_timestamp())
    and ($2::text is null or w.tenant_id = $2) and ($3::text[] is null or w.agent = any($3))
order by w.id
for share of w

-- name: log_emitted
-- Arguments: tenants, message ids, run ids, agents, tokens, principals, on behalf of, types, receipt ids.
insert into mailbox.event (
    tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, data
)
select
    tenant_id, clock_timestamp(), 'emitted', message_id, nullif(run_id, message_id), agent, token, principal,
    on_behalf_of, type, json_build_object('receiptid', receiptid)
from unnest(
    $1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::uuid[]
) as i (tenant_id, message_id, run_id, agent, token, principal, on_behalf_of, type, receiptid)

-- name: promote
-- Arguments: tenants, agents, serial keys whose head is closed.
select mailbox.promote($1, $2, $3)

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
            when a.token is not null then 'stale'
            when w.token is null and d.token is null then 'stale'
            when w.state = 'leased' and w.cancel is not null and w.leased_until > clock_timestamp() then 'cancelled'
            when w.state = 'leased' or coalesce(w.ended, d.ended) = 'expired' then 'expired'
            when coalesce(w.ended, d.ended) = 'cancelled' then 'cancelled'
            else 'stale'
        end as status,
        case
            when a.token is not null then 'acked'
            when d.token is not null then 'dead'
            when w.state <> 'leased' then w.state
        end as state
    from issued
    left join mailbox.work w
        on w.tenant_id = issued.tenant_id and w.id = issued.message_id and w.token = issued.token
    left join mailbox.dead d
        on d.tenant_id = issued.tenant_id and d.id = issued.message_id and d.token = issued.token
    left join lateral (
        select e.token from mailbox.event e
        where w.token is null and d.token is null and e.message_id = issued.message_id
            and e.tenant_id = issued.tenant_id and e.kind = 'acked' and e.token = issued.token
        limit 1
    ) a on true
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail
    )
    select
        tenant_id, clock_timestamp(), 'refused', message_id, run_id, agent, token, coalesce($4, principal),
        on_behalf_of, status || '_' || $5::text
    from judged
)
select
    item.token, coalesce(judged.status, 'unknown') as status, null::timestamptz as until, judged.state
from item left join judged using (token)
