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

-- name: forget_subjects
-- What is counted of an object says itself when it counts no more.
with due as (
    select ctid from execution.subject_state
    where forget_at <= (select clock_timestamp()) - $1::interval
    order by forget_at
    limit $2
    for update skip locked
), gone as (
    delete from execution.subject_state where ctid = any(array(select ctid from due)) returning 1
)
select count(*) from gone

-- name: forget_reservations
-- Of messages that are closed, when no period that they count in can run any more.
with due as (
    select ctid from execution.budget_reservation
    where closed_at is not null and closed_at <= (select clock_timestamp()) - $1::interval
    order by closed_at
    limit $2
    for update skip locked
), gone as (
    delete from execution.budget_reservation where ctid = any(array(select ctid from due)) returning 1
)
select count(*) from gone

-- name: forget_batches
-- With their items; what they had counted of their subscription stays in its opening balance.
with due as (
    select ctid from execution.batch
    where closed_at is not null and closed_at <= (select clock_timestamp()) - $1::interval
    order by closed_at
    limit $2
    for update skip locked
), gone as (
    delete from execution.batch where ctid = any(array(select ctid from due))
    returning tenant_id, id, subscription, message_id, delivered_at
), items as (
    delete from execution.batch_item i using gone g where i.tenant_id = g.tenant_id and i.batch_id = g.id
), opening as (
    insert into execution.opening as o (tenant_id, subscription, deliveries, last_delivered_at)
    select tenant_id, subscription, count(*), max(delivered_at)
    from gone
    where message_id is not null
    group by tenant_id, subscription
    on conflict (tenant_id, subscription) do update set
        deliveries = o.deliveries + excluded.deliveries,
        last_delivered_at = greatest(o.last_delivered_at, excluded.last_delivered_at)
)
select count(*) from gone

-- name: forget_filtered
with due as (
    select ctid from execution.filtered_out
    where hour <= (select clock_timestamp()) - $1::interval
    order by hour
    limit $2
    for update skip locked
), gone as (
    delete from execution.filtered_out where ctid = any(array(select ctid from due)) returning 1
)
select count(*) from gone
