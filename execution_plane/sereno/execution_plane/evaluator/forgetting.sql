-- name: forget_egress
-- One page. Arguments: how long it is kept, rows.
with due as (
    select id from execution.egress
    where at < (select clock_timestamp()) - $1::interval
    order by at
    limit $2
    for update skip locked
), gone as (
    delete from execution.egress where id in (select id from due) returning 1
)
select count(*) from gone

-- name: forget_tests
with due as (
    select tenant_id, id from execution.condition_test
    where at < (select clock_timestamp()) - interval '1 day'
    limit $2
    for update skip locked
), gone as (
    delete from execution.condition_test t using due
    where t.tenant_id = due.tenant_id and t.id = due.id and $1::interval is not null
    returning 1
)
select count(*) from gone
