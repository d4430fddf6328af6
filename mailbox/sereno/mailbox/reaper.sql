-- name: overdue_leases
-- Arguments: where the last page ended (time, id), page size.
select leased_until as at, tenant_id, id from mailbox.work
where state = 'leased' and leased_until <= (select clock_timestamp()) and (leased_until, id) > ($1, $2)
order by leased_until, id
limit $3

-- name: overdue_ages
-- Arguments: where the last page ended (time, id), page size.
select give_up_at as at, tenant_id, id from mailbox.work
where state = 'ready' and held_by = '{}' and give_up_at is not null
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
            when w.held_by = '{}' and w.give_up_at <= (select at from clock) then 'deadline'
            when w.attempts >= w.max_attempts then 'exhausted'
        end as dead_of
    from mailbox.work w
    join unnest($1::text[], $2::uuid[]) as i (tenant_id, id) on w.tenant_id = i.tenant_id and w.id = i.id
    where (w.state = 'leased' and w.leased_until <= (select at from clock))
        or (w.state = 'ready' and w.held_by = '{}' and w.give_up_at <= (select at from clock))
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
    insert into mailbox.closed (
        tenant_id, id, run_id, agent, subscription, state, reason, attempts, token, ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, 'dead', dead_of, attempts, token,
        case when state = 'leased' then 'expired' else ended end, clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, data
    )
    select
        tenant_id, clock.at, 'expired', id, run_id, agent, token, $3, on_behalf_of,
        jsonb_build_object('holder', holder, 'incarnation', incarnation)
    from returned, clock
    union all
    select
        tenant_id, clock.at, 'died', id, run_id, agent, token, $3, on_behalf_of,
        jsonb_strip_nulls(jsonb_build_object(
            'reason', dead_of, 'after', case when state = 'leased' then 'expired' end
        ))
    from removed, clock
)
select tenant_id, id, agent, subscription, 'ready' as state, null as dead_of from returned
union all
select tenant_id, id, agent, subscription, 'dead', dead_of from removed
