-- The least that a queue in SQL can do: no fence, no log, no attempts, no fairness, no limits.

-- name: schema
create table job (id bigint generated always as identity primary key, body text not null, taken_at timestamptz)

-- name: deposit
insert into job (body) select unnest($1::text[])

-- name: claim
update job set taken_at = now()
where id in (select id from job where taken_at is null order by id limit $1 for update skip locked)
returning id, body

-- name: ack
delete from job where id = any($1::bigint[])
