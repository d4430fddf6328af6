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
-- Arguments: tenant, agent, state, subscription, holder or incarnation, seconds since the deposit (each null: any),
-- limit.
select s.*, w.granted_seconds from mailbox.standing s
join (
    select w.tenant_id, w.id, w.granted_seconds from mailbox.work w
    where w.tenant_id = $1 and w.agent = $2 and ($3::text is null or w.state = $3)
        and ($4::text is null or w.subscription = $4)
        and ($5::text is null or (w.state = 'leased' and $5 in (w.holder, w.incarnation)))
        and ($6::double precision is null or exists (
            select from mailbox.message m
            where m.tenant_id = w.tenant_id and m.id = w.id
                and m.deposited_at <= (select clock_timestamp()) - make_interval(secs => $6)
        ))
    order by w.id desc
    limit $7
) w using (tenant_id, id)
order by s.id desc

-- name: dead_messages
-- Arguments: tenant, agent, subscription, reason, seconds since the deposit (each null: any), limit.
select s.*, null::double precision as granted_seconds from mailbox.standing s
join (
    select d.tenant_id, d.id from mailbox.dead d
    where d.tenant_id = $1 and d.agent = $2 and ($3::text is null or d.subscription = $3)
        and ($4::text is null or d.reason = $4)
        and ($5::double precision is null or exists (
            select from mailbox.message m
            where m.tenant_id = d.tenant_id and m.id = d.id
                and m.deposited_at <= (select clock_timestamp()) - make_interval(secs => $5)
        ))
    order by d.closed_at desc
    limit $6
) found using (tenant_id, id)
order by s.closed_at desc

-- name: all_messages
-- Arguments: tenant, agent, state, subscription, seconds since the deposit (each null: any), limit.
select s.*, w.granted_seconds from mailbox.standing s
left join mailbox.work w using (tenant_id, id)
where s.tenant_id = $1 and s.agent = $2 and ($3::text is null or s.state = $3)
    and ($4::text is null or s.subscription = $4)
    and ($5::double precision is null
        or s.deposited_at <= (select clock_timestamp()) - make_interval(secs => $5))
order by s.id desc
limit $6

-- name: message
-- Arguments: tenant (null: any), id, agents in reach (null: all).
select s.*, w.granted_seconds, m.lease_seconds, m.max_run_seconds, m.max_age_seconds
from mailbox.standing s
join mailbox.message m using (tenant_id, id)
left join mailbox.work w using (tenant_id, id)
where ($1::text is null or s.tenant_id = $1) and s.id = $2 and ($3::text[] is null or s.agent = any($3))

-- name: history
-- Arguments: tenant, message id.
select position, at, kind, run_id, token, principal, on_behalf_of, data
from mailbox.history
where tenant_id = $1 and message_id = $2
order by position
