-- name: set_limit
-- Arguments: tenant, agent, most live leases at once (null: no limit).
select mailbox.set_limit($1, $2, $3)
