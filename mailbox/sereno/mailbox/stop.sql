-- name: engage
-- Arguments: scope, reason, principal.
insert into mailbox.stop (scope, reason, principal) values ($1, $2, $3)
on conflict (scope) do nothing

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

-- name: release
-- Arguments: scope.
delete from mailbox.stop where scope = $1

-- name: standing
select scope, reason, principal, engaged_at from mailbox.stop order by scope

-- name: scopes
-- What stands still in these tenants, asked and held until the transaction ends. Arguments: tenants.
select scope from mailbox.stop_scopes($1) as scope

-- name: backlog
-- What would be claimable at once. Arguments: tenant, agent, subscription (each null: all), the stop's own cause.
select count(*) from mailbox.work
where state = 'ready' and (held_by is null or held_by = array[$4::text]) and not behind
    and ready_at <= clock_timestamp() and ($1::text is null or tenant_id = $1)
    and ($2::text is null or agent = $2) and ($3::text is null or subscription = $3)
