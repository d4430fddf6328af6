-- name: forget_occurrences
-- A row that a pipeline holds at this moment is left for the next round.
with due as (
    select ctid from execution.dedup
    where expires_at <= (select clock_timestamp()) - $1::interval
    order by expires_at
    limit $2
    for update skip locked
), gone as (
    delete from execution.dedup where ctid = any(array(select ctid from due)) returning 1
)
select count(*) from gone

-- name: forget_expired_bodies
with due as (
    select ctid from execution.body_seen
    where expires_at <= (select clock_timestamp()) - $1::interval
    order by expires_at
    limit $2
    for update skip locked
), gone as (
    delete from execution.body_seen where ctid = any(array(select ctid from due)) returning 1
)
select count(*) from gone
