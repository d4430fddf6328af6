-- name: verdicts
-- What was judged on an event, or on the candidate of the event that its verdict became. Arguments: tenant, receipt.
select coalesce(case when r.type = 'sereno.condition.met' then (r.envelope ->> 'causationid')::uuid end, r.receiptid)
    as receiptid, v.subscription, v.outcome, v.reason, v.numbers
from execution.receipt r
join execution.verdict v on v.tenant_id = r.tenant_id and v.guard = 'condition'
    and v.receiptid
        = coalesce(case when r.type = 'sereno.condition.met' then (r.envelope ->> 'causationid')::uuid end, r.receiptid)
where r.tenant_id = $1 and r.receiptid = $2
order by v.subscription

-- name: receipts_of_message
-- Arguments: tenant, message.
select (e ->> 'receiptid')::uuid as receiptid
from mailbox.message m, json_array_elements(m.envelopes) e
where m.tenant_id = $1 and m.id = $2

-- name: judged_events
-- The receipts of an event's id that a condition was judged on. Arguments: tenants, id.
select distinct r.tenant_id, r.receiptid
from execution.receipt r
join execution.verdict v on v.tenant_id = r.tenant_id and v.receiptid = r.receiptid and v.guard = 'condition'
where r.tenant_id = any($1::text[]) and r.envelope ->> 'id' = $2
limit 2

-- name: label
-- The last word counts. Arguments: tenant, receipt, subscription, label, whether it met, criterion version, by whom.
insert into execution.label (tenant_id, receiptid, subscription, label, fires, criterion_version, by_principal)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (tenant_id, receiptid, subscription) do update
set label = excluded.label, fires = excluded.fires, criterion_version = excluded.criterion_version,
    by_principal = excluded.by_principal, at = clock_timestamp()

-- name: judged
-- By version of the criterion. Arguments: tenant, subscription.
select coalesce(numbers::jsonb ->> 'criterion', '') as criterion_version,
    count(*) filter (where reason = 'condition_met') as met,
    count(*) filter (where reason = 'not_met') as not_met,
    count(*) filter (where outcome = 'error') as errors
from execution.verdict
where tenant_id = $1 and subscription = $2 and guard = 'condition'
group by 1

-- name: labelled
-- By version of the criterion. Arguments: tenant, subscription.
select criterion_version,
    count(*) filter (where fires and label = 'right') as true_positives,
    count(*) filter (where fires and label = 'wrong') as false_positives,
    count(*) filter (where not fires and label = 'right') as true_negatives,
    count(*) filter (where not fires and label = 'wrong') as false_negatives
from execution.label
where tenant_id = $1 and subscription = $2
group by 1

-- name: criteria
-- Arguments: tenant, subscription.
select criterion_version, criterion, min_confidence, model, prompt, first_at, recheck_since, recheck_reason,
    replayed_at, replay
from execution.criterion
where tenant_id = $1 and subscription = $2
order by first_at
