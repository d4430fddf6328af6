-- What the execution plane knows: receipts, verdicts, guard state, the catalog it works from, schedules.
-- Every table leads with the tenant; hot rows carry no foreign keys.

create table execution.receipt (
    tenant_id    text        not null,
    receiptid    uuid        not null,
    origin       text        not null,
    type         text        not null,
    recordedtime timestamptz not null,
    envelope     jsonb       not null,
    outside      jsonb       not null default '{}',
    body_sha256  text,
    duplicate_of uuid,
    decided_at   timestamptz not null default clock_timestamp(),
    primary key (tenant_id, receiptid)
);
create index receipt_by_time on execution.receipt (tenant_id, recordedtime);
create index receipt_by_event_id on execution.receipt (tenant_id, (envelope ->> 'id'));

create table execution.verdict (
    tenant_id            text        not null,
    receiptid            uuid        not null,
    subscription         text        not null,
    subscription_version bigint      not null,
    outcome              text        not null check (outcome in
        ('delivered', 'merged', 'dropped', 'held', 'suspended', 'awaiting_verdict', 'error')),
    guard                text        not null,
    reason               text        not null,
    guards               jsonb       not null,
    numbers              jsonb       not null default '{}',
    message_id           uuid,
    recorded_clock       timestamptz not null,
    database_clock       timestamptz not null,
    decided_at           timestamptz not null default clock_timestamp(),
    primary key (tenant_id, receiptid, subscription)
);
create index verdict_by_message on execution.verdict (tenant_id, message_id) where message_id is not null;
create index verdict_by_subscription on execution.verdict (tenant_id, subscription, decided_at);

-- The dedup key of an occurrence, written with its outcome; an `error` of ours writes none.
create table execution.dedup (
    tenant_id    text        not null,
    origin       text        not null,
    subscription text        not null,
    dedupkey     text        not null,
    receiptid    uuid        not null,
    outcome      text        not null check (outcome in ('delivered', 'merged', 'held', 'dropped')),
    message_id   uuid,
    expires_at   timestamptz not null,
    primary key (tenant_id, origin, subscription, dedupkey)
);
create index dedup_by_expiry on execution.dedup (expires_at);

-- Bodies whose scheme signs no timestamp, per endpoint: a captured body under a new delivery id is a duplicate.
create table execution.body_seen (
    tenant_id  text        not null,
    endpoint   text        not null,
    sha256     text        not null,
    receiptid  uuid        not null,
    expires_at timestamptz not null,
    primary key (tenant_id, endpoint, sha256)
);
create index body_seen_by_expiry on execution.body_seen (expires_at);

-- What the guards remember of a subscription between events; locked in key order.
create table execution.subscription_state (
    tenant_id         text   not null,
    subscription      text   not null,
    last_recorded     timestamptz,
    last_delivered_at timestamptz,
    deliveries        bigint not null default 0,
    primary key (tenant_id, subscription)
);

-- Bytes of an ingress item that could not be decided for a reason of the data, keyed by their hash.
create table execution.quarantine (
    tenant_id      text        not null,
    sha256         text        not null,
    receiptid      uuid,
    payload        bytea       not null,
    error          text        not null,
    stream_sequence bigint     not null,
    quarantined_at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, sha256)
);

-- The newest manifest of each tenant whose signature held, as its exact signed bytes.
create table execution.manifest (
    tenant_id   text        not null primary key,
    epoch       bigint      not null,
    version     bigint      not null,
    signed      bytea       not null,
    received_at timestamptz not null default clock_timestamp()
);

-- The objects that manifest names, as of now.
create table execution.catalog (
    tenant_id text   not null,
    key       text   not null,
    version   bigint not null,
    sha256    text   not null,
    object    jsonb  not null,
    primary key (tenant_id, key)
);

-- Every version this plane ever worked from, as the canonical bytes whose hash was checked: explain reads it.
create table execution.catalog_version (
    tenant_id     text        not null,
    key           text        not null,
    version       bigint      not null,
    sha256        text        not null,
    canonical     bytea       not null,
    first_seen_at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, key, version, sha256)
);

-- One row a time subscription, derived from the catalog; `next_due` is null when nothing will fire again.
create table execution.schedule (
    tenant_id            text        not null,
    schedule             uuid        not null,
    subscription         text        not null,
    subscription_version bigint      not null,
    spec                 jsonb       not null,
    misfire              text        not null check (misfire in ('skip', 'latest', 'all')),
    paused               boolean     not null default false,
    expires              timestamptz,
    next_due             timestamptz,
    last_instant         timestamptz,
    updated_at           timestamptz not null default clock_timestamp(),
    primary key (tenant_id, schedule)
);
create unique index schedule_by_subscription on execution.schedule (tenant_id, subscription);
create index schedule_by_due on execution.schedule (next_due) where next_due is not null;

-- One row a nominal instant that was due: emitted as a receipt, or skipped with its reason (one row for a run of them).
create table execution.due_instant (
    tenant_id    text        not null,
    schedule     uuid        not null,
    instant      timestamptz not null,
    subscription text        not null,
    receiptid    uuid,
    emitted      timestamptz,
    outcome      text,
    reason       text,
    skipped      bigint      not null default 0 check (skipped >= 0),
    skipped_from timestamptz,
    recorded_at  timestamptz not null default clock_timestamp(),
    primary key (tenant_id, schedule, instant),
    check ((receiptid is null) = (emitted is null)),
    check ((outcome is not distinct from 'skipped') = (skipped > 0))
);
create index due_instant_by_receipt on execution.due_instant (tenant_id, receiptid) where receiptid is not null;
create index due_instant_undecided on execution.due_instant (emitted) where outcome is null;
