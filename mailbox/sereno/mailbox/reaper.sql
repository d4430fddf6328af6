-- name: overdue_leases
-- Arguments: where the last page ended (time, token), page size.
select leased_until as at, tenant_id, id, token as place from mailbox.work
where state = 'leased' and leased_until <= (select clock_timestamp()) and leased_until >= $1
    and (leased_until, token) > ($1, $2)
order by leased_until, token
limit $3

-- name: overdue_ages
-- Arguments: where the last page ended (time, id), page size.
select give_up_at as at, tenant_id, id, id as place from mailbox.work
where state = 'ready' and held_by is null and give_up_at is not null
    and give_up_at <= (select clock_timestamp()) and (give_up_at, id) > ($1, $2)
order by give_up_at, id
limit $3

-- name: reap
-- Looks at each row again under its lock: who renewed, acknowledged or reclaimed meanwhile is left alone.
-- Arguments: tenants, ids, principal.
with clock as materialized (
    select clock_timestamp() as at
), overdue as materialized (
    select
        w.tenant_id, w.id, w.state,
        case
            when w.cancel_to = 'dead' then w.cancel
            when w.held_by is null and w.give_up_at <= (select at from clock) then 'deadline'
            when w.attempts >= w.max_attempts then 'exhausted'
        end as dead_of
    from mailbox.work w
    join unnest($1::text[], $2::uuid[]) as i (tenant_id, id) on w.tenant_id = i.tenant_id and w.id = i.id
    where (w.state = 'leased' and w.leased_until <= (select at from clock))
        or (w.state = 'ready' and w.held_by is null and w.give_up_at <= (select at from clock))
    order by w.tenant_id, w.id
    for update of w skip locked
), returned as (
    update mailbox.work w set
        state = 'ready', ended = 'expired', due = true, ready_at = clock.at, cancel = null, cancel_to = null
    from overdue, clock
    where w.tenant_id = overdue.tenant_id and w.id = overdue.id and overdue.dead_of is null
    returning w.*
), removed as (
    delete from mailbox.work w using overdue
    where w.tenant_id = overdue.tenant_id and w.id = overdue.id and overdue.dead_of is not null
    returning w.*, overdue.dead_of
), closed as (
    insert into mailbox.dead (
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, reason, attempts, max_attempts, token,
        ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, dead_of, attempts, max_attempts, token,
        case when state = 'leased' then 'expired' else ended end, clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, data
    )
    select
        tenant_id, clock.at, 'expired', id, run_id, agent, token, $3, on_behalf_of, incarnation,
        json_build_object('holder', holder)
    from returned, clock
    union all
    select
        tenant_id, clock.at, 'died', id, run_id, agent, token, $3, on_behalf_of, dead_of,
        case when state = 'leased' then json_build_object('after', 'expired') end
    from removed, clock
)
select tenant_id, id, agent, subscription, 'ready' as state, null as serial_key, null as dead_of, true as lost
from returned
union all
select tenant_id, id, agent, subscription, 'dead', serial_key, dead_of, state = 'leased' from removed

-- name: unanswered
-- Parked work whose deadline passed without an answer. Arguments: page size.
select tenant_id, id from mailbox.parked
where deadline is not null and deadline <= (select clock_timestamp())
order by deadline
limit $1

-- name: independent
-- Parked work whose dependency is closed. Arguments: page size.
select p.tenant_id, p.id, p.dependency, exists (
    select from mailbox.dead d where d.tenant_id = p.tenant_id and d.id = p.dependency
) as dead
from mailbox.parked p
where p.dependency is not null and not exists (
    select from mailbox.work w where w.tenant_id = p.tenant_id and w.id = p.dependency
)
limit $1

-- name: remind
-- Arguments: page size.
with due as materialized (
    select tenant_id, id from mailbox.parked
    where remind_at is not null and remind_at <= (select clock_timestamp())
    order by remind_at limit $1
    for update skip locked
), reminded as (
    update mailbox.parked p set remind_at = clock_timestamp() + make_interval(secs => p.remind_after)
    from due where p.tenant_id = due.tenant_id and p.id = due.id
    returning p.tenant_id, p.id, p.waiting_for, p.question
)
select r.tenant_id, r.id, w.agent, w.subscription, r.waiting_for, r.question
from reminded r join mailbox.work w on w.tenant_id = r.tenant_id and w.id = r.id

-- name: stalled_lines
-- Arguments: page size.
select tenant_id, agent, serial_key from mailbox.serial_slot where stalled
order by tenant_id, agent, serial_key limit $1
