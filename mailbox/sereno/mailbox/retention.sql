-- name: create_days
select mailbox.create_days($1)

-- name: droppable_days
-- Days that end before so many days ago. Arguments: days kept.
select to_date(right(c.relname, 8), 'YYYYMMDD') as day
from pg_inherits i
join pg_class c on c.oid = i.inhrelid
where i.inhparent in ('mailbox.event'::regclass, 'mailbox.message'::regclass) and c.relname ~ '_\d{8}$'
    and to_date(right(c.relname, 8), 'YYYYMMDD') < current_date - $1::integer
group by day
order by day

-- name: live_streams
-- Locked until the end of the transaction, so that what is carried is what stands. Arguments: day.
select s.*, m.max_attempts as terms_attempts, m.lease_seconds, m.max_run_seconds, m.max_age_seconds,
    (
        select json_build_object(
            'waiting_for', p.waiting_for, 'question', p.question, 'options', p.options, 'dependency', p.dependency,
            'deadline', p.deadline, 'remind_after', p.remind_after, 'remind_at', p.remind_at
        ) from mailbox.parked p where p.tenant_id = s.tenant_id and p.id = s.id
    ) as parked
from (
    select
        w.tenant_id, w.id, w.run_id, w.agent, w.on_behalf_of, w.state, null as reason, w.attempts, w.token,
        w.granted_seconds, w.leased_until, w.hard_deadline, w.give_up_at, w.ended, w.held_by, w.still_since, w.cancel,
        w.cancel_to, w.ready_at, w.holder, w.incarnation, w.place, w.answered,
        null::timestamptz as closed_at
    from mailbox.work w
    join mailbox.uncarried($1) u on u.tenant_id = w.tenant_id and u.id = w.id
    order by w.id
    for update of w
) s
join mailbox.message m on m.tenant_id = s.tenant_id and m.id = s.id

-- name: dead_streams
select
    d.tenant_id, d.id, d.run_id, d.agent, d.on_behalf_of, 'dead' as state, d.reason, d.attempts, d.token,
    null::double precision as granted_seconds, null::timestamptz as leased_until, null::timestamptz as hard_deadline,
    null::timestamptz as give_up_at, d.ended, null::text[] as held_by, null::timestamptz as still_since,
    null as cancel, null as cancel_to, m.ready_at, null as holder, null as incarnation,
    null::bigint as place, false as answered,
    d.closed_at, m.max_attempts as terms_attempts, m.lease_seconds, m.max_run_seconds, m.max_age_seconds,
    null::json as parked
from mailbox.dead d
join mailbox.uncarried($1) u on u.tenant_id = d.tenant_id and u.id = d.id
join mailbox.message m on m.tenant_id = d.tenant_id and m.id = d.id
order by d.id
for update of d

-- name: carry
-- Arguments: tenants, ids, runs, agents, tokens, on behalf of, states as JSON, principal.
insert into mailbox.event (
    tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, data
)
select tenant_id, clock_timestamp(), 'carried', id, run_id, agent, token, $8, on_behalf_of, data::json
from unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::text[], $7::text[])
    as i (tenant_id, id, run_id, agent, token, on_behalf_of, data)

-- name: drop_day
select mailbox.drop_day($1)
