-- name: unheld
-- Suspended subscriptions of which messages are claimable. Arguments: page size.
select s.tenant_id, s.subscription
from execution.suspension s
where s.ended_at is null and s.subject is null and exists (
    select from mailbox.work w
    where w.tenant_id = s.tenant_id and w.subscription = s.subscription and w.state <> 'leased'
        and ('suspended' = any(w.held_by)) is not true
)
group by s.tenant_id, s.subscription
order by s.tenant_id, s.subscription
limit $1
