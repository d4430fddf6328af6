-- name: append
-- {schema} is the name of one of our schemas, here and below.
select end_seq as seq, end_hash as hash from {schema}.audit_append($1, $2, $3)

-- name: heads
select tenant_id, seq, hash from {schema}.audit_head where $1::text is null or tenant_id = $1 order by tenant_id

-- name: page
select seq, prev, hash, canonical from {schema}.audit_record
where tenant_id = $1 and seq > $2
order by seq, hash
limit $3

-- name: ends
-- The ends of the chains, each with the bytes of its last record.
select h.tenant_id, h.seq, h.hash, r.canonical
from {schema}.audit_head h
join {schema}.audit_record r on r.tenant_id = h.tenant_id and r.seq = h.seq
where $1::text is null or h.tenant_id = $1
order by h.tenant_id

-- name: anchored
select tenant_id, seq, hash from {schema}.audit_anchor

-- name: anchor
-- Nothing is returned when this end, or a later one, stands in the chain already.
insert into {schema}.audit_anchor (tenant_id, seq, hash) values ($1, $2, $3)
on conflict (tenant_id) do update set seq = excluded.seq, hash = excluded.hash where audit_anchor.seq < excluded.seq
returning seq
