-- name: labelled
-- What people labelled last, with the event as it was received while that is kept. Arguments: tenant, subscription, most.
select l.receiptid, l.label, l.fires, r.envelope
from execution.label l
left join execution.receipt r on r.tenant_id = l.tenant_id and r.receiptid = l.receiptid
where l.tenant_id = $1 and l.subscription = $2
order by l.at desc
limit $3
