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

-- name: room
-- Each append rewrites the row of its chain's head: with room on the page no index is touched.
alter table {schema}.audit_head set (fillfactor = 10, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0)

-- name: append
-- Chains contents behind the end of a tenant's chain and answers the new end, in one round trip: who appends waits at the
-- head's row for who did before, and what is hashed is as `sereno.mailbox.audit.chain.hash_of` says. Row by row, since most
-- appends are of one record.
create function {schema}.audit_append(of_tenant text, contents bytea[], salts bytea[])
returns table (end_seq bigint, end_hash bytea) language plpgsql as $$
declare
    at_prev bytea;
begin
    select seq, hash into end_seq, end_hash from {schema}.audit_head where tenant_id = of_tenant for update;
    if not found then
        insert into {schema}.audit_head (tenant_id, seq, hash)
        values (of_tenant, 0, decode(repeat('00', 32), 'hex')) on conflict do nothing;
        select seq, hash into end_seq, end_hash from {schema}.audit_head where tenant_id = of_tenant for update;
    end if;
    for place in 1 .. cardinality(contents) loop
        end_seq := end_seq + 1;
        at_prev := end_hash;
        end_hash := sha256('sereno/audit/record/v1\012'::bytea || int8send(end_seq) || at_prev || contents[place]);
        insert into {schema}.audit_record (tenant_id, seq, prev, hash, canonical)
        values (of_tenant, end_seq, at_prev, end_hash, contents[place]);
        insert into {schema}.audit_salt (tenant_id, seq, salt) values (of_tenant, end_seq, salts[place]);
    end loop;
    update {schema}.audit_head set seq = end_seq, hash = end_hash where tenant_id = of_tenant;
    return next;
end $$
