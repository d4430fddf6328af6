-- name: count_dead
-- Arguments: tenant, agent, subscription, reason, older than seconds, ids (each null: any).
select count(*) from mailbox.dead d
where d.tenant_id = $1 and ($2::text is null or d.agent = $2) and ($3::text is null or d.subscription = $3)
    and ($4::text is null or d.reason = $4)
    and ($5::double precision is null or d.closed_at <= clock_timestamp() - make_interval(secs => $5))
    and ($6::uuid[] is null or d.id = any($6))

-- name: join_lines
-- The lines of the dead that are to come back are held before they are joined.
-- Arguments: the filter.
insert into mailbox.serial_slot as s (tenant_id, agent, serial_key)
select distinct d.tenant_id, d.agent, d.serial_key from mailbox.dead d
where d.tenant_id = $1 and ($2::text is null or d.agent = $2) and ($3::text is null or d.subscription = $3)
    and ($4::text is null or d.reason = $4)
    and ($5::double precision is null or d.closed_at <= clock_timestamp() - make_interval(secs => $5))
    and ($6::uuid[] is null or d.id = any($6)) and d.serial_key is not null
order by d.tenant_id, d.agent, d.serial_key
on conflict (tenant_id, agent, serial_key) do update set stalled = s.stalled

-- name: still
-- No subscription begins to be held while the dead come back: one of both sees the other. Before any other lock.
lock table mailbox.hold in share mode

-- name: redrive
-- A new run with counters anew, in the old place of the fair order, at the end of the line of its serial key; held for
-- whatever holds its subscription, or stops its agent or it, now.
-- Arguments: the filter, how it was asked for (reason), principal, page size, new run ids.
with clock as materialized (
    select clock_timestamp() as at
), found as materialized (
    select d.*, case when d.serial_key is not null then nextval('mailbox.place_sequence') end as place
    from mailbox.dead d
    where d.tenant_id = $1 and ($2::text is null or d.agent = $2) and ($3::text is null or d.subscription = $3)
        and ($4::text is null or d.reason = $4)
        and ($5::double precision is null or d.closed_at <= clock_timestamp() - make_interval(secs => $5))
        and ($6::uuid[] is null or d.id = any($6))
        and (
            d.serial_key is null
            or exists (
                select from mailbox.serial_slot s
                where s.tenant_id = d.tenant_id and s.agent = d.agent and s.serial_key = d.serial_key
            )
        )
    order by d.id
    limit $9
    for update skip locked
), removed as (
    delete from mailbox.dead d using found where d.tenant_id = found.tenant_id and d.id = found.id
), numbered as (
    select found.*, ($10::uuid[])[row_number() over (order by found.id)] as new_run from found
), standing as materialized (
    select n.tenant_id, n.id, h.cause, h.cancel
    from numbered n join mailbox.hold h on h.tenant_id = n.tenant_id and h.subscription = n.subscription
    union
    select n.tenant_id, n.id, 'stop ' || s.scope, true
    from numbered n
    join mailbox.message m on m.tenant_id = n.tenant_id and m.id = n.id
    join mailbox.stop s
        on s.scope = any(mailbox.scopes_over(n.tenant_id, n.agent, n.subscription, m.context ->> 'source'))
        and s.scope not in ('*', n.tenant_id)
), back as (
    insert into mailbox.work (
        tenant_id, id, run_id, agent, subscription, serial_key, place, behind, on_behalf_of, order_key, state, due,
        ready_at, max_attempts, lease_seconds, max_run_seconds, max_age_seconds, held_by, still_since
    )
    select
        n.tenant_id, n.id, n.new_run, n.agent, n.subscription, n.serial_key, n.place,
        n.serial_key is not null and (
            row_number() over (partition by n.tenant_id, n.agent, n.serial_key order by n.place) > 1
            or exists (
                select from mailbox.work w
                where w.tenant_id = n.tenant_id and w.agent = n.agent and w.serial_key = n.serial_key
            )
        ),
        n.on_behalf_of, m.order_key, 'ready', true, clock.at, n.max_attempts, m.lease_seconds, m.max_run_seconds,
        m.max_age_seconds, held.by, case when held.by is not null then clock.at end
    from numbered n
    join mailbox.message m on m.tenant_id = n.tenant_id and m.id = n.id
    left join lateral (
        select array_agg(s.cause order by s.cause) as by from standing s
        where s.tenant_id = n.tenant_id and s.id = n.id
    ) held on true, clock
    returning *
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, data
    )
    -- In this order, which is that of the log.
    select tenant_id, at, kind, id, run_id, agent, token, principal, on_behalf_of, detail, data
    from (
        select
            1 as step, b.tenant_id, clock.at, 'redriven' as kind, b.id, b.run_id, b.agent, n.token,
            $8::text as principal, b.on_behalf_of, $7::text as detail, json_build_object('place', b.place) as data
        from back b join numbered n on n.tenant_id = b.tenant_id and n.id = b.id, clock
        union all
        select
            2, b.tenant_id, clock.at, 'held', b.id, b.run_id, b.agent, null, $8::text, b.on_behalf_of, s.cause,
            json_build_object('cancel', s.cancel)
        from back b join standing s on s.tenant_id = b.tenant_id and s.id = b.id, clock
    ) told
    order by step, id, detail
)
select tenant_id, agent, id from back

-- name: count_open
-- Arguments: tenant, agent, subscription, state (null: any), older than seconds, ids (each null: any).
select count(*) from mailbox.work w join mailbox.message m on m.tenant_id = w.tenant_id and m.id = w.id
where w.tenant_id = $1 and ($2::text is null or w.agent = $2) and ($3::text is null or w.subscription = $3)
    and ($4::text is null or w.state = $4) and w.cancel_to is distinct from 'dead'
    and ($5::double precision is null or m.deposited_at <= clock_timestamp() - make_interval(secs => $5))
    and ($6::uuid[] is null or w.id = any($6))

-- name: end_open
-- Work in nobody's hands is dead now; a live holder is told at the next renewal, and then it is. Arguments: the filter, reason, principal, page size.
with clock as materialized (
    select clock_timestamp() as at
), found as materialized (
    select w.tenant_id, w.id, w.state
    from mailbox.work w join mailbox.message m on m.tenant_id = w.tenant_id and m.id = w.id
    where w.tenant_id = $1 and ($2::text is null or w.agent = $2) and ($3::text is null or w.subscription = $3)
        and ($4::text is null or w.state = $4) and w.cancel_to is distinct from 'dead'
        and ($5::double precision is null or m.deposited_at <= clock_timestamp() - make_interval(secs => $5))
        and ($6::uuid[] is null or w.id = any($6))
    order by w.id
    limit $9
    for update of w skip locked
), told as (
    update mailbox.work w set cancel = $7, cancel_to = 'dead'
    from found
    where w.tenant_id = found.tenant_id and w.id = found.id and found.state = 'leased'
    returning w.*
), removed as (
    delete from mailbox.work w using found
    where w.tenant_id = found.tenant_id and w.id = found.id and found.state <> 'leased'
    returning w.*
), unparked as (
    delete from mailbox.parked p using found where p.tenant_id = found.tenant_id and p.id = found.id
), closed as (
    insert into mailbox.dead (
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, reason, attempts, max_attempts, token,
        ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, $7, attempts, max_attempts, token,
        ended, clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail
    )
    select
        tenant_id, clock.at, 'died', id, run_id, agent, token, $8::text, on_behalf_of, $7::text
    from removed, clock
    union all
    select
        tenant_id, clock.at, 'withdrawn', id, run_id, agent, token, $8::text, on_behalf_of, $7::text
    from told, clock
)
select tenant_id, agent, id, serial_key from removed
union all
select tenant_id, agent, id, null from told
