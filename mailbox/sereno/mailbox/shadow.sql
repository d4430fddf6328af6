-- name: make_work
create temporary table shadow_work (like mailbox.work, primary key (tenant_id, id))

-- name: make_dead
create temporary table shadow_dead (like mailbox.dead, primary key (tenant_id, id))

-- name: make_parked
create temporary table shadow_parked (like mailbox.parked, primary key (tenant_id, id))

-- name: drop
drop table if exists shadow_work, shadow_dead, shadow_parked

-- name: streams
-- Every message that is not acknowledged, page by page. Arguments: where the last page ended (id), page size.
select
    m.tenant_id, m.id, m.agent, m.subscription, m.serial_key, m.place, m.order_key, m.ready_at, m.max_attempts,
    m.lease_seconds, m.max_run_seconds, m.max_age_seconds, m.context ->> 'on_behalf_of' as on_behalf_of
from mailbox.message m
where m.id > $1 and not exists (
    select from mailbox.event e where e.message_id = m.id and e.tenant_id = m.tenant_id and e.kind = 'acked'
)
order by m.id
limit $2

-- name: streams_of
-- Arguments: tenants, ids.
select
    m.tenant_id, m.id, m.agent, m.subscription, m.serial_key, m.place, m.order_key, m.ready_at, m.max_attempts,
    m.lease_seconds, m.max_run_seconds, m.max_age_seconds, m.context ->> 'on_behalf_of' as on_behalf_of
from unnest($1::text[], $2::uuid[]) as k (tenant_id, id)
join mailbox.message m using (tenant_id, id)

-- name: events
-- Arguments: message ids.
select tenant_id, message_id, position, at, kind, token, until, seconds, run_id, principal, detail, data
from mailbox.event
where message_id = any($1::uuid[])
order by message_id, position

-- name: snapshot
-- What is committed so far, and since when a transaction may have been at work that is not.
select pg_current_snapshot()::text as snapshot, clock_timestamp() as at,
    least(min(a.xact_start), clock_timestamp() - interval '10 minutes') as since
from pg_stat_activity a

-- name: changed
-- The streams with something that a snapshot does not show. Arguments: that snapshot, since when to look.
select e.tenant_id, e.message_id as id
from mailbox.event e
where e.at >= $2 and not pg_visible_in_snapshot(e.xid, $1::text::pg_snapshot)
union
select m.tenant_id, m.id
from mailbox.message m
where m.deposited_at >= $2
    and not exists (select from shadow_work w where w.tenant_id = m.tenant_id and w.id = m.id)
    and not exists (select from shadow_dead d where d.tenant_id = m.tenant_id and d.id = m.id)
    and not exists (
        select from mailbox.event e where e.message_id = m.id and e.tenant_id = m.tenant_id and e.kind = 'acked'
    )

-- name: forget_work
-- Arguments: tenants, ids.
delete from shadow_work s using unnest($1::text[], $2::uuid[]) as k (tenant_id, id)
where s.tenant_id = k.tenant_id and s.id = k.id

-- name: forget_dead
delete from shadow_dead s using unnest($1::text[], $2::uuid[]) as k (tenant_id, id)
where s.tenant_id = k.tenant_id and s.id = k.id

-- name: forget_parked
delete from shadow_parked s using unnest($1::text[], $2::uuid[]) as k (tenant_id, id)
where s.tenant_id = k.tenant_id and s.id = k.id

-- name: park
insert into shadow_parked (
    tenant_id, id, waiting_for, question, options, dependency, deadline, remind_after, remind_at
) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: queue
-- Who stands behind another in the line of its serial key is seen from the whole line.
update shadow_work s set behind = s.place > l.first
from (
    select tenant_id, agent, serial_key, min(place) as first from shadow_work
    where serial_key is not null
    group by tenant_id, agent, serial_key
) l
where l.tenant_id = s.tenant_id and l.agent = s.agent and l.serial_key = s.serial_key
    and s.behind <> (s.place > l.first)

-- name: lock
lock table mailbox.work, mailbox.dead, mailbox.parked in exclusive mode

-- name: differing_work
-- When it was noticed that a row is due changes nothing; nor does the order of what holds it.
select coalesce(a.tenant_id, b.tenant_id) as tenant_id, coalesce(a.id, b.id) as id
from mailbox.work a
full join shadow_work b on b.tenant_id = a.tenant_id and b.id = a.id
where a.id is null or b.id is null
    or (
        a.token, a.granted_seconds, a.leased_until, a.hard_deadline, a.give_up_at,
        a.still_since, a.ready_at, a.order_key, a.place, a.run_id, a.attempts, a.max_attempts, a.behind, a.answered,
        a.state, a.agent, a.subscription, a.serial_key, a.on_behalf_of, a.holder, a.incarnation, a.cancel,
        a.cancel_to, a.ended, a.lease_seconds, a.max_run_seconds, a.max_age_seconds
    ) is distinct from (
        b.token, b.granted_seconds, b.leased_until, b.hard_deadline, b.give_up_at,
        b.still_since, b.ready_at, b.order_key, b.place, b.run_id, b.attempts, b.max_attempts, b.behind, b.answered,
        b.state, b.agent, b.subscription, b.serial_key, b.on_behalf_of, b.holder, b.incarnation, b.cancel,
        b.cancel_to, b.ended, b.lease_seconds, b.max_run_seconds, b.max_age_seconds
    )
    or (a.held_by is null) <> (b.held_by is null) or not (a.held_by @> b.held_by and b.held_by @> a.held_by)

-- name: differing_dead
select coalesce(a.tenant_id, b.tenant_id) as tenant_id, coalesce(a.id, b.id) as id
from mailbox.dead a
full join shadow_dead b on b.tenant_id = a.tenant_id and b.id = a.id
where a.id is null or b.id is null
    or (
        a.run_id, a.agent, a.subscription, a.serial_key, a.on_behalf_of, a.reason, a.attempts, a.max_attempts,
        a.token, a.ended, a.closed_at
    ) is distinct from (
        b.run_id, b.agent, b.subscription, b.serial_key, b.on_behalf_of, b.reason, b.attempts, b.max_attempts,
        b.token, b.ended, b.closed_at
    )

-- name: differing_parked
-- A reminder moves on each time it is given, and is no event.
select coalesce(a.tenant_id, b.tenant_id) as tenant_id, coalesce(a.id, b.id) as id
from mailbox.parked a
full join shadow_parked b on b.tenant_id = a.tenant_id and b.id = a.id
where a.id is null or b.id is null
    or (a.waiting_for, a.question, a.options::jsonb, a.dependency, a.deadline, a.remind_after) is distinct from
        (b.waiting_for, b.question, b.options::jsonb, b.dependency, b.deadline, b.remind_after)

-- name: stored_work
-- Arguments: tenants, ids.
select s.* from mailbox.work s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: told_work
select s.* from shadow_work s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: stored_dead
select s.* from mailbox.dead s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: told_dead
select s.* from shadow_dead s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: stored_parked
select s.* from mailbox.parked s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: told_parked
select s.* from shadow_parked s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: remove_work
-- What differs gives way to what the log tells. Arguments: tenants, ids.
delete from mailbox.work w using unnest($1::text[], $2::uuid[]) as k (tenant_id, id)
where w.tenant_id = k.tenant_id and w.id = k.id

-- name: put_work
insert into mailbox.work
select s.* from shadow_work s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: remove_dead
delete from mailbox.dead d using unnest($1::text[], $2::uuid[]) as k (tenant_id, id)
where d.tenant_id = k.tenant_id and d.id = k.id

-- name: put_dead
insert into mailbox.dead
select s.* from shadow_dead s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)

-- name: remove_parked
delete from mailbox.parked p using unnest($1::text[], $2::uuid[]) as k (tenant_id, id)
where p.tenant_id = k.tenant_id and p.id = k.id

-- name: put_parked
insert into mailbox.parked
select s.* from shadow_parked s join unnest($1::text[], $2::uuid[]) as k (tenant_id, id) using (tenant_id, id)
