-- name: engage
-- Whether it stood already is told by what comes back. Arguments: scope, reason, principal, id (null: any).
insert into mailbox.stop (scope, reason, principal, id) values ($1, $2, $3, coalesce($4, gen_random_uuid()))
on conflict (scope) do nothing
returning id, engaged_at

-- name: barrier
-- Waits for every transaction that looked before the stop was there; the caller sets the time-out.
select pg_advisory_lock(mailbox.stop_key()), pg_advisory_unlock(mailbox.stop_key())

-- name: in_flight
-- Who still holds the lock that the barrier waited for.
select l.pid, a.application_name, a.xact_start
from pg_locks l join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.mode = 'ShareLock' and l.granted
    and ((l.classid::bigint << 32) | l.objid::bigint) = mailbox.stop_key()
order by a.xact_start

-- name: known
-- Arguments: scope.
select exists (select from mailbox.stop where scope = $1 union all select from mailbox.stop_review where scope = $1)

-- name: alone
select pg_advisory_xact_lock(mailbox.stop_key())

-- name: release
-- The stop, and what an earlier one of the same scope left for review. Arguments: scope.
with ended as (
    delete from mailbox.stop where scope = $1 returning id, reason, principal, engaged_at
), reviewed as (
    delete from mailbox.stop_review where scope = $1 returning id, reason, principal, ended_at
)
select * from ended
union all
select * from reviewed
limit 1

-- name: review
-- Arguments: scope, id, reason, principal.
insert into mailbox.stop_review (scope, id, reason, principal) values ($1, $2, $3, $4)

-- name: standing
select scope, id, reason, principal, engaged_at from mailbox.stop order by scope

-- name: reviews
select scope, id, reason, principal, ended_at from mailbox.stop_review order by scope

-- name: scopes
-- What stands still in these tenants, asked and held until the transaction ends. Arguments: tenants.
select scope from mailbox.stop_scopes($1) as scope

-- name: backlog
-- What would be claimable at once. Arguments: tenant, agent, subscription, source (each null: all), the stop's own cause.
select count(*) from mailbox.work w
where state = 'ready' and (held_by is null or held_by = array[$5::text]) and not behind
    and ready_at <= clock_timestamp() and ($1::text is null or tenant_id = $1)
    and ($2::text is null or agent = $2) and ($3::text is null or subscription = $3)
    and ($4::text is null or exists (
        select from mailbox.message m
        where m.tenant_id = w.tenant_id and m.id = w.id
            and $4 in (m.context ->> 'source', split_part(m.context ->> 'source', '/', 1))
    ))

-- name: waiting
-- The messages of a scope by state. Arguments: tenant, agent, subscription, source (each null: all).
select w.state, count(*) as count, min(m.deposited_at) as oldest
from mailbox.work w join mailbox.message m on m.tenant_id = w.tenant_id and m.id = w.id
where ($1::text is null or w.tenant_id = $1) and ($2::text is null or w.agent = $2)
    and ($3::text is null or w.subscription = $3)
    and ($4::text is null or $4 in (m.context ->> 'source', split_part(m.context ->> 'source', '/', 1)))
group by w.state

-- name: ready
-- Locked in the order of their ids, as everywhere. Arguments: as of `waiting`.
select w.tenant_id, w.id
from mailbox.work w
where ($1::text is null or w.tenant_id = $1) and ($2::text is null or w.agent = $2)
    and ($3::text is null or w.subscription = $3) and w.state = 'ready'
    and ($4::text is null or exists (
        select from mailbox.message m
        where m.tenant_id = w.tenant_id and m.id = w.id
            and $4 in (m.context ->> 'source', split_part(m.context ->> 'source', '/', 1))
    ))
order by w.id
for update
