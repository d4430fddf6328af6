-- name: sums
-- Arguments: tenants, by what, from (included), to (not included). A cost that was not reported is what was reserved for
-- it, unless the message died and gave it back. Several currencies of one run are one wake-up.
with entry as (
    select tenant_id, kind, reference, currency, cost, reserved, outcome,
        case $2::text when 'tenant' then tenant_id when 'agent' then agent when 'subscription' then subscription
            else model end as name
    from execution.usage
    where tenant_id = any($1::text[])
        and ($3::timestamptz is null or at >= $3)
        and ($4::timestamptz is null or at < $4)
), counted as (
    select tenant_id, name,
        count(distinct reference) filter (where kind = 'wake') as wakes,
        count(distinct reference) filter (where kind = 'wake' and outcome <> 'acked') as dead,
        count(distinct reference) filter (where kind = 'evaluation') as evaluations,
        count(distinct reference) filter (where kind = 'test') as tests
    from entry group by tenant_id, name
), money as (
    select tenant_id, name, currency, sum(cost) as reported, sum(reserved) as reserved,
        sum(coalesce(cost, case when outcome = 'acked' then reserved end, 0)) as counted
    from entry where currency <> '' group by tenant_id, name, currency
)
select c.tenant_id, c.name, c.wakes, c.dead, c.evaluations, c.tests, m.currency, m.reported, m.reserved, m.counted
from counted c left join money m on m.tenant_id = c.tenant_id and m.name is not distinct from c.name
order by c.tenant_id, c.name nulls last, m.currency
