-- name: begin
-- {schema} is the name of one of our schemas, here and below.
insert into {schema}.audit_head (tenant_id, seq, hash) values ($1, 0, $2) on conflict do nothing

-- name: head
-- Whoever appends to a chain waits here for who did before: locking the last record instead lets two follow the same one.
select seq, hash from {schema}.audit_head where tenant_id = $1 for update

-- name: write
insert into {schema}.audit_record (tenant_id, seq, prev, hash, canonical)
select $1, seq, prev, hash, canonical
from unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[]) as r (seq, prev, hash, canonical)

-- name: keep_salts
insert into {schema}.audit_salt (tenant_id, seq, salt)
select $1, seq, salt from unnest($2::bigint[], $3::bytea[]) as s (seq, salt)

-- name: move
update {schema}.audit_head set seq = $2, hash = $3 where tenant_id = $1

-- name: heads
select tenant_id, seq, hash from {schema}.audit_head where $1::text is null or tenant_id = $1 order by tenant_id

-- name: page
select seq, prev, hash, canonical from {schema}.audit_record
where tenant_id = $1 and seq > $2
order by seq, hash
limit $3
