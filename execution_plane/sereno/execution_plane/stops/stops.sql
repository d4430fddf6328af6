-- name: tenants
select tenant_id from execution.manifest order by tenant_id

-- name: choose
-- What was held on its way to a mailbox for this stop; its end says what becomes of it. Arguments: scope, choice.
update execution.held set choice = $2 where cause = 'stopped' and scope = $1

-- name: events
-- Arguments: scope.
select count(*) from execution.held where cause = 'stopped' and scope = $1

-- name: schedules
-- Arguments: scope.
select count(*) from execution.schedule
where held and $1 = any(mailbox.scopes_over(tenant_id, null, subscription, 'time'))
