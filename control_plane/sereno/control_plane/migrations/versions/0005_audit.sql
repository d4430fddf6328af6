create table control.audit_head (
    tenant_id text   not null primary key,
    seq       bigint not null check (seq >= 0),
    hash      bytea  not null check (length(hash) = 32)
);

-- `canonical` are the bytes that were hashed; nothing is ever made of them again.
create table control.audit_record (
    tenant_id text   not null,
    seq       bigint not null check (seq > 0),
    prev      bytea  not null check (length(prev) = 32),
    hash      bytea  not null check (length(hash) = 32),
    canonical bytea  not null,
    primary key (tenant_id, seq),
    constraint audit_record_follows_one unique (tenant_id, prev)
);

-- What opens the commitment of a record. Deleting a salt forgets the data and leaves the chain whole.
create table control.audit_salt (
    tenant_id text   not null,
    seq       bigint not null,
    salt      bytea  not null,
    primary key (tenant_id, seq)
);

create function control.refuse_audit_change() returns trigger language plpgsql as $$ begin raise exception 'control.audit_record is append-only'; end $$;

create trigger audit_record_is_append_only before update or delete or truncate on control.audit_record
    for each statement execute function control.refuse_audit_change();
