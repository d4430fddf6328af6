-- Data too large for an envelope, stored once per tenant and class; the address is an HMAC under their key.
create table execution.large_data (
    tenant_id text not null,
    sensitivity text not null
        constraint large_data_sensitivity check (sensitivity in ('public', 'internal', 'confidential', 'unclassified')),
    address text not null,
    media_type text not null,
    data bytea not null,
    kept_at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, sensitivity, address)
);
