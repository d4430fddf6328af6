-- One row a request at a known endpoint: what was answered and why. No header and no body stands here.
create table execution.delivery (
    tenant_id      text        not null,
    id             uuid        not null,
    endpoint       text        not null,
    received_at    timestamptz not null,
    verdict        text        not null check (verdict in
        ('accepted', 'paused', 'answered', 'refused', 'not_stored', 'redelivered')),
    status         integer     not null check (status between 100 and 599),
    reason         text,
    latency_ms     double precision not null check (latency_ms >= 0),
    size           bigint      not null check (size >= 0),
    receipts       uuid[]      not null default '{}',
    redelivery_of  uuid,
    by_principal   text,
    primary key (tenant_id, id)
);
create index delivery_by_endpoint on execution.delivery (tenant_id, endpoint, id desc);
create index delivery_by_age on execution.delivery (received_at);
