-- name: to_lift
-- Suspensions that are named and were not lifted in this way yet. Arguments: tenant, ids, what becomes of what is held.
select s.id, s.subscription
from execution.suspension s
join unnest($2::uuid[], $3::text[]) as k (id, held) on k.id = s.id
where s.tenant_id = $1 and (s.ended_at is null or (s.held = 'review' and k.held <> 'review'))

-- name: lift
-- What an earlier one left for review goes where the person says now.
-- Arguments: tenant, ids, choices, by whom, reasons, database clock.
update execution.suspension s
set ended_at = coalesce(s.ended_at, $6), ended_by = coalesce(s.ended_by, k.by), reason = coalesce(s.reason, k.reason),
    held = k.held
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) as k (id, held, by, reason)
where s.tenant_id = $1 and s.id = k.id and (s.ended_at is null or s.held = 'review')
