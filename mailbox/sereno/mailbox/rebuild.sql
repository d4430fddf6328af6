-- name: lock
lock table mailbox.work, mailbox.dead, mailbox.parked in exclusive mode

-- name: streams
-- Every message that is not acknowledged, with its log, in the order of the log; page by page.
-- Arguments: where the last page ended (id), page size.
select
    m.tenant_id, m.id, m.agent, m.subscription, m.serial_key, m.place, m.order_key, m.ready_at, m.max_attempts,
    m.lease_seconds, m.max_run_seconds, m.max_age_seconds, m.context ->> 'on_behalf_of' as on_behalf_of
from mailbox.message m
where m.id > $1 and not exists (
    select from mailbox.event e where e.message_id = m.id and e.tenant_id = m.tenant_id and e.kind = 'acked'
)
order by m.id
limit $2

-- name: events
-- Arguments: message ids.
select tenant_id, message_id, position, at, kind, token, until, seconds, run_id, principal, detail, data
from mailbox.event
where message_id = any($1::uuid[])
order by message_id, position

-- name: work
select * from mailbox.work order by tenant_id, id

-- name: dead
select * from mailbox.dead order by tenant_id, id

-- name: parked
select * from mailbox.parked order by tenant_id, id

-- name: drop_work
delete from mailbox.work

-- name: drop_dead
delete from mailbox.dead

-- name: drop_parked
delete from mailbox.parked

-- name: insert_parked
insert into mailbox.parked (
    tenant_id, id, waiting_for, question, options, dependency, deadline, remind_after, remind_at
) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
