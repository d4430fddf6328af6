-- name: lease
-- The token names the lease; who held an older one is answered that it is stale. What is suspended or stopped waits.
-- Arguments: most, seconds.
with chosen as materialized (
    select e.tenant_id, e.receiptid, e.subscription
    from execution.evaluation e
    where e.ready_at <= (select clock_timestamp())
        and (e.leased_until is null or e.leased_until <= (select clock_timestamp()))
        and not exists (
            select from execution.suspension s
            where s.tenant_id = e.tenant_id and s.subscription = e.subscription and s.ended_at is null
                and s.subject is null
        )
        and not exists (
            select from mailbox.stop p
            where p.scope = any(mailbox.scopes_over(e.tenant_id, null, e.subscription, (
                select r.origin from execution.receipt r
                where r.tenant_id = e.tenant_id and r.receiptid = e.receiptid
            )))
        )
    order by e.ready_at
    limit $1
    for update skip locked
)
update execution.evaluation e
set token = nextval('execution.evaluation_token'), attempts = e.attempts + 1,
    leased_until = clock_timestamp() + make_interval(secs => $2)
from chosen c
where e.tenant_id = c.tenant_id and e.receiptid = c.receiptid and e.subscription = c.subscription
returning e.tenant_id, e.receiptid, e.subscription, e.version, e.criterion, e.token, e.attempts,
    (select r.envelope from execution.receipt r where r.tenant_id = e.tenant_id and r.receiptid = e.receiptid)
        as envelope

-- name: held
-- The lease of this token, while it lives. Arguments: tenant, receipt, subscription, token.
select e.attempts, e.version, r.envelope
from execution.evaluation e
join execution.receipt r on r.tenant_id = e.tenant_id and r.receiptid = e.receiptid
where e.tenant_id = $1 and e.receiptid = $2 and e.subscription = $3 and e.token = $4
    and e.leased_until > clock_timestamp()
for update of e

-- name: done
-- Arguments: tenant, receipt, subscription.
delete from execution.evaluation where tenant_id = $1 and receiptid = $2 and subscription = $3

-- name: try_again
-- Arguments: tenant, receipt, subscription, seconds, error.
update execution.evaluation set leased_until = null, token = null, last_error = $5,
    ready_at = clock_timestamp() + make_interval(secs => $4)
where tenant_id = $1 and receiptid = $2 and subscription = $3

-- name: rewrite
-- What became of the candidate. Arguments: tenant, receipt, subscription, outcome, reason, numbers, database clock.
update execution.verdict v
set outcome = $4, guard = 'condition', reason = $5, numbers = (v.numbers::jsonb || $6::text::jsonb)::json,
    database_clock = $7, decided_at = $7, xid = default
where v.tenant_id = $1 and v.receiptid = $2 and v.subscription = $3
