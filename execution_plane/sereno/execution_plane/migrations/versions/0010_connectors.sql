-- One row a connector of the catalog. `reload` rises with each wish to connect anew, `loaded` follows when that was
-- done. A connector that was stopped asks nothing of its server until a person lets it.
create table execution.connector (
    tenant_id     text        not null,
    connector     text        not null,
    spec          jsonb       not null,
    object_sha256 text        not null,
    paused        boolean     not null,
    reload        bigint      not null default 0,
    loaded        bigint      not null default 0,
    connected_at  timestamptz,
    fault         text,
    stopped       text        check (stopped in ('definition_changed', 'wrong_account')),
    stopped_at    timestamptz,
    stopped_why   text,
    calls_hour    timestamptz not null default '-infinity',
    calls         bigint      not null default 0,
    primary key (tenant_id, connector),
    check ((stopped is null) = (stopped_at is null) and (stopped is null) = (stopped_why is null))
);

-- The definition of each allowed tool: as it was pinned, and as it was met last.
create table execution.mcp_tool (
    tenant_id text        not null,
    connector text        not null,
    tool      text        not null,
    pinned    text        not null,
    pinned_at timestamptz not null,
    pinned_by text        not null,
    met       text        not null,
    met_at    timestamptz not null,
    definition jsonb      not null,
    primary key (tenant_id, connector, tool)
);

-- Calls in flight: one row a unit of an account, held by whoever polls until its lease ends.
create table execution.mcp_slot (
    tenant_id text        not null,
    account   text        not null,
    slot      integer     not null,
    until     timestamptz not null default '-infinity',
    source    text,
    poll      bigint,
    primary key (tenant_id, account, slot)
);

-- One row an operation that somebody wants polled: one observation serves all its readers. `poll` rises with each
-- turn: who was overtaken writes nothing. `cursor` says how far it was read.
create table execution.mcp_source (
    tenant_id     text        not null,
    source        text        not null,
    connector     text        not null,
    account       text        not null,
    tool          text        not null,
    spec          jsonb       not null,
    every         interval    not null,
    cursor        jsonb       not null default '{}',
    poll          bigint      not null default 0,
    polling_until timestamptz not null default '-infinity',
    next_poll     timestamptz not null,
    polled_at     timestamptz,
    observations  bigint      not null default 0,
    failures      integer     not null default 0,
    fault         text,
    state         text        not null default 'active' check (state in ('active', 'stalled')),
    primary key (tenant_id, source)
);
create index mcp_source_by_poll on execution.mcp_source (next_poll);

-- How the items of an operation are told apart, and whether those that were there at first are known.
create table execution.mcp_reading (
    tenant_id text        not null,
    reading   text        not null,
    source    text        not null,
    spec      jsonb       not null,
    backfill  integer     not null default 0,
    seeded_at timestamptz,
    primary key (tenant_id, reading)
);
create index mcp_reading_by_source on execution.mcp_reading (tenant_id, source);

-- Which subscription reads what, and in which form it wants items.
create table execution.mcp_reader (
    tenant_id     text   not null,
    subscription  uuid   not null,
    name          text   not null,
    version       bigint not null,
    source        text   not null,
    reading       text   not null,
    view          text   not null,
    spec          jsonb  not null,
    primary key (tenant_id, subscription)
);
create index mcp_reader_by_reading on execution.mcp_reader (tenant_id, reading);

-- The items that are known, by the SHA-256 of their id, with that of the version met last.
create table execution.mcp_item (
    tenant_id text  not null,
    reading   text  not null,
    item      bytea not null,
    version   bytea not null,
    met       date  not null default current_date,
    primary key (tenant_id, reading, item)
);
create index mcp_item_by_day on execution.mcp_item (met)
