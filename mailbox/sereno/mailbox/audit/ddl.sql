-- name: tables
-- {schema} is the name of one of our schemas, here and below.
create table {schema}.audit_head (
    tenant_id text   not null primary key,
    seq       bigint not null check (seq >= 0),
    hash      bytea  not null check (length(hash) = 32)
);

-- `canonical` are the bytes that were hashed; nothing is ever made of them again.
create table {schema}.audit_record (
    tenant_id text   not null,
    seq       bigint not null check (seq > 0),
    prev      bytea  not null check (length(prev) = 32),
    hash      bytea  not null check (length(hash) = 32),
    canonical bytea  not null,
    primary key (tenant_id, seq),
    constraint audit_record_follows_one unique (tenant_id, prev)
);

-- What opens the commitment of a record. Deleting a salt forgets the data and leaves the chain whole.
create table {schema}.audit_salt (
    tenant_id text   not null,
    seq       bigint not null,
    salt      bytea  not null,
    primary key (tenant_id, seq)
)

-- name: refuse_change
create function {schema}.refuse_audit_change() returns trigger language plpgsql as $$
begin raise exception '{schema}.audit_record is append-only'; end $$

-- name: append_only
create trigger audit_record_is_append_only before update or delete or truncate on {schema}.audit_record
    for each statement execute function {schema}.refuse_audit_change()

-- name: anchor
-- The last end of the other plane's chain that stands in this one's: nothing is anchored twice.
create table {schema}.audit_anchor (
    tenant_id text   not null primary key,
    seq       bigint not null check (seq >= 0),
    hash      bytea  not null check (length(hash) = 32)
)

-- name: append
-- Chains contents behind the end of a tenant's chain and answers the new end, in one round trip: who appends waits at the
-- head's row for who did before, and what is hashed is as `sereno.mailbox.audit.chain.hash_of` says.
create function {schema}.audit_append(of_tenant text, contents bytea[], salts bytea[])
returns table (end_seq bigint, end_hash bytea) language plpgsql as $$
declare
    first_seq bigint;
    at_hash   bytea;
    prevs     bytea[] := array[]::bytea[];
    hashes    bytea[] := array[]::bytea[];
begin
    select seq, hash into first_seq, at_hash from {schema}.audit_head where tenant_id = of_tenant for update;
    if not found then
        insert into {schema}.audit_head (tenant_id, seq, hash)
        values (of_tenant, 0, decode(repeat('00', 32), 'hex')) on conflict do nothing;
        select seq, hash into first_seq, at_hash from {schema}.audit_head where tenant_id = of_tenant for update;
    end if;
    for place in 1 .. cardinality(contents) loop
        prevs := prevs || at_hash;
        at_hash := sha256('sereno/audit/record/v1\012'::bytea || int8send(first_seq + place) || at_hash || contents[place]);
        hashes := hashes || at_hash;
    end loop;
    insert into {schema}.audit_record (tenant_id, seq, prev, hash, canonical)
    select of_tenant, first_seq + r.place, r.prev, r.hash, r.content
    from unnest(prevs, hashes, contents) with ordinality as r (prev, hash, content, place);
    insert into {schema}.audit_salt (tenant_id, seq, salt)
    select of_tenant, first_seq + s.place, s.salt from unnest(salts) with ordinality as s (salt, place);
    update {schema}.audit_head set seq = first_seq + cardinality(contents), hash = at_hash where tenant_id = of_tenant;
    return query select first_seq + cardinality(contents), at_hash;
end $$
