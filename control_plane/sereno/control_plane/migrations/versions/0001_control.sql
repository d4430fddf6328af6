-- What the control plane knows. `event` is the truth; `catalog_object` is a projection of it.

create table control.event (
    position       bigint      generated always as identity primary key,
    xid            xid8        not null default pg_current_xact_id(),
    tenant_id      text        not null,
    stream         text        not null,
    version        bigint      not null check (version > 0),
    type           text        not null,
    schema_version integer     not null check (schema_version > 0),
    data           jsonb       not null,
    actor          text        not null,
    reason         text,
    recorded       timestamptz not null,
    constraint event_expected_version unique (tenant_id, stream, version)
);
create index event_in_commit_order on control.event (xid, position);

create table control.catalog_object (
    tenant_id    text        not null,
    kind         text        not null check (kind in ('Tenant', 'Agent', 'Endpoint', 'Token', 'Subscription')),
    name         text        not null,
    id           uuid        not null,
    version      bigint      not null,
    revision     bigint      not null,
    state        text        not null check (state in ('draft', 'pending_approval', 'active', 'paused', 'expired',
                                                       'exhausted', 'rejected', 'deleted')),
    labels       jsonb       not null,
    spec         jsonb       not null,
    token_sha256 text,
    created_by   text        not null,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (tenant_id, kind, name)
);
create unique index catalog_object_by_token on control.catalog_object (token_sha256) where token_sha256 is not null;

-- The path token of an endpoint in clear, so that its URL can be shown again; it is in no event and no manifest.
create table control.endpoint_token (
    tenant_id text not null,
    endpoint  text not null,
    token     text not null unique,
    primary key (tenant_id, endpoint)
);

-- One row a tenant: its version rises in each transaction that changes the tenant's catalog, and its lock orders them.
create table control.manifest_head (
    tenant_id text   not null primary key,
    epoch     bigint not null check (epoch > 0),
    version   bigint not null check (version >= 0)
);

-- Reports already folded, by the position the sending plane's outbox gave them.
create table control.inbox (
    plane       text        not null,
    position    bigint      not null,
    received_at timestamptz not null default clock_timestamp(),
    primary key (plane, position)
);
create index inbox_by_age on control.inbox (received_at);

create table control.subscription_activity (
    tenant_id    text        not null,
    subscription text        not null,
    outcome      text        not null,
    count        bigint      not null check (count > 0),
    last_at      timestamptz not null,
    primary key (tenant_id, subscription, outcome)
);

-- What happened is never rewritten, by whomever.
create function control.refuse_change() returns trigger language plpgsql as $$ begin raise exception 'control.event is append-only'; end $$;
create trigger event_is_append_only before update or delete or truncate on control.event
    for each statement execute function control.refuse_change();
