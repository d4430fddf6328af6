-- name: mailboxes
-- Arguments: tenant (null: all), agents in reach (null: all).
select
    tenant_id as tenant, agent,
    count(*) filter (where state = 'ready' and held_by is null and ready_at <= clock_timestamp()) as ready,
    count(*) filter (where state = 'ready' and held_by is null and ready_at > clock_timestamp()) as waiting,
    count(*) filter (where state = 'ready' and held_by is not null) as held,
    count(*) filter (where state = 'leased') as leased,
    count(*) filter (where state = 'parked') as parked,
    count(*) filter (where state = 'dead') as dead,
    min(ready_at) filter (where state = 'ready' and held_by is null) as oldest_ready_at
from (
    select tenant_id, agent, state, held_by, ready_at from mailbox.work
    union all
    select tenant_id, agent, 'dead', null, null from mailbox.dead
) every
where ($1::text is null or tenant_id = $1) and ($2::text[] is null or agent = any($2))
group by tenant_id, agent
order by tenant_id, agent

-- name: open_messages
-- Arguments: tenant, agent, state (null: any that is open), limit.
select s.* from mailbox.standing s
join (
    select w.tenant_id, w.id from mailbox.work w
    where w.tenant_id = $1 and w.agent = $2 and ($3::text is null or w.state = $3)
    order by w.id desc
    limit $4
) found using (tenant_id, id)
order by s.id desc

-- name: dead_messages
-- Arguments: tenant, agent, limit.
select s.* from mailbox.standing s
join (
    select d.tenant_id, d.id from mailbox.dead d
    where d.tenant_id = $1 and d.agent = $2
    order by d.closed_at desc
    limit $3
) found using (tenant_id, id)
order by s.closed_at desc

-- name: all_messages
-- Arguments: tenant, agent, state (null: any), limit.
select s.* from mailbox.standing s
where s.tenant_id = $1 and s.agent = $2 and ($3::text is null or s.state = $3)
order by s.id desc
limit $4

-- name: message
-- Arguments: tenant (null: any), id, agents in reach (null: all).
select s.* from mailbox.standing s
where ($1::text is null or s.tenant_id = $1) and s.id = $2 and ($3::text[] is null or s.agent = any($3))

-- name: history
-- Arguments: tenant, message id.
select position, at, kind, run_id, token, principal, on_behalf_of, data
from mailbox.history
where tenant_id = $1 and message_id = $2
order by position
