-- name: mailboxes
-- Arguments: tenant (null: all), agents in reach (null: all).
select
    tenant_id as tenant, agent,
    count(*) filter (where state = 'ready' and held_by = '{}' and ready_at <= clock_timestamp()) as ready,
    count(*) filter (where state = 'ready' and held_by = '{}' and ready_at > clock_timestamp()) as waiting,
    count(*) filter (where state = 'ready' and held_by <> '{}') as held,
    count(*) filter (where state = 'leased') as leased,
    count(*) filter (where state = 'parked') as parked,
    count(*) filter (where state = 'dead') as dead,
    min(ready_at) filter (where state = 'ready' and held_by = '{}') as oldest_ready_at
from (
    select tenant_id, agent, state, held_by, ready_at from mailbox.work
    union all
    select tenant_id, agent, state, '{}', null from mailbox.closed where state = 'dead'
) every
where ($1::text is null or tenant_id = $1) and ($2::text[] is null or agent = any($2))
group by tenant_id, agent
order by tenant_id, agent

-- name: messages
-- Arguments: tenant, agent, state (null: any), limit.
select
    m.tenant_id as tenant, m.id, m.agent, m.subscription, m.subscription_version, m.priority, m.serial_key,
    coalesce(w.state, c.state) as state, c.reason, coalesce(w.attempts, c.attempts) as attempts,
    m.max_attempts, coalesce(w.ready_at, m.ready_at) as ready_at, m.deposited_at, c.closed_at,
    w.held_by, w.token, w.holder, w.incarnation, w.leased_until, w.hard_deadline, w.give_up_at
from mailbox.message m
left join mailbox.work w on w.tenant_id = m.tenant_id and w.id = m.id
left join mailbox.closed c on c.tenant_id = m.tenant_id and c.id = m.id
where m.tenant_id = $1 and m.agent = $2 and ($3::text is null or coalesce(w.state, c.state) = $3)
order by m.seq desc
limit $4

-- name: message
-- Arguments: tenant (null: any), id, agents in reach (null: all).
select
    m.tenant_id as tenant, m.id, m.agent, m.subscription, m.subscription_version, m.instruction, m.envelopes,
    m.priority, m.serial_key, m.lineage, m.context, coalesce(w.run_id, c.run_id) as run_id,
    coalesce(w.state, c.state) as state, c.reason, coalesce(w.attempts, c.attempts) as attempts,
    m.max_attempts, coalesce(w.ready_at, m.ready_at) as ready_at, m.deposited_at, c.closed_at,
    w.held_by, w.cancel, coalesce(w.token, c.token) as token, w.holder, w.incarnation, w.leased_until,
    w.hard_deadline, w.give_up_at
from mailbox.message m
left join mailbox.work w on w.tenant_id = m.tenant_id and w.id = m.id
left join mailbox.closed c on c.tenant_id = m.tenant_id and c.id = m.id
where ($1::text is null or m.tenant_id = $1) and m.id = $2 and ($3::text[] is null or m.agent = any($3))

-- name: history
-- Arguments: tenant, message id.
select position, at, kind, token, principal, on_behalf_of, data
from mailbox.event
where tenant_id = $1 and message_id = $2
order by position
