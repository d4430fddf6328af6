-- The notices of both planes: one row a cause. `told` rises when people are to hear of it (again).
create table control.notice (
    tenant_id text        not null,
    cause     text        not null,
    kind      text        not null,
    inbox     text        not null check (inbox in ('notify', 'question', 'review')),
    text      text        not null,
    data      jsonb       not null,
    count     bigint      not null,
    first_at  timestamptz not null,
    last_at   timestamptz not null,
    told      integer     not null default 1,
    told_at   timestamptz not null,
    done_at   timestamptz,
    primary key (tenant_id, cause)
);
create index notice_told on control.notice (told_at);

-- Since when each sink is configured: what was told before is not for it.
create table control.notice_sink (
    name  text        primary key,
    since timestamptz not null
);

-- One row a notice, sink and time of telling; the open ones are tried until they are sent or given up.
create table control.notice_delivery (
    tenant_id text        not null,
    cause     text        not null,
    sink      text        not null,
    told      integer     not null,
    id        uuid        not null,
    attempts  integer     not null default 0,
    next_at   timestamptz,
    sent_at   timestamptz,
    error     text,
    primary key (tenant_id, cause, sink, told)
);
create index notice_delivery_due on control.notice_delivery (next_at) where next_at is not null;

-- Links that were used: each is good once.
create table control.used_link (
    nonce     text        primary key,
    tenant_id text        not null,
    subject   text        not null,
    principal text        not null,
    used_at   timestamptz not null
);
