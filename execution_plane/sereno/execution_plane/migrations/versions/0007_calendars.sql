-- One row a subscription to a calendar, derived from the catalog. `look` rises with each turn at the source: who was
-- overtaken writes nothing. Everything that wakes until `known_until` is written down; `looked_at` is when that was
-- last brought up to date. What only becomes known of the hole has its reason.
create table execution.calendar (
    tenant_id            text        not null,
    calendar             uuid        not null,
    subscription         text        not null,
    subscription_version bigint      not null,
    spec                 jsonb       not null,
    object_sha256        text        not null,
    misfire              text        not null check (misfire in ('skip', 'latest', 'all')),
    paused               boolean     not null,
    expires              timestamptz,
    zone                 text,
    counted_from         timestamptz not null,
    edited               boolean     not null default false,
    cursor               jsonb       not null default '{}',
    look                 bigint      not null default 0,
    looking_until        timestamptz,
    next_look            timestamptz,
    looked_at            timestamptz,
    known_until          timestamptz,
    hole_until           timestamptz,
    hole_reason          text,
    next_due             timestamptz,
    failures             integer     not null default 0,
    fault                text,
    ended                text,
    ended_at             timestamptz,
    updated_at           timestamptz not null default clock_timestamp(),
    primary key (tenant_id, calendar),
    check ((hole_until is null) = (hole_reason is null)),
    check ((ended is null) = (ended_at is null)),
    check (ended is null or (next_look is null and next_due is null))
);
create unique index calendar_by_subscription on execution.calendar (tenant_id, subscription) where ended is null;
create index calendar_by_look on execution.calendar (next_look) where next_look is not null;
create index calendar_by_due on execution.calendar (next_due) where next_due is not null;

-- What was read last, by where it lies: one file or feed, or each object of a collection.
create table execution.calendar_resource (
    tenant_id text not null,
    calendar  uuid not null,
    href      text not null,
    etag      text,
    content   text not null,
    primary key (tenant_id, calendar, href)
);

-- One row an occurrence at one time (`occurrence` is its dedup key, `entry` says which it is whenever it takes place).
create table execution.calendar_instant (
    tenant_id            text        not null,
    calendar             uuid        not null,
    occurrence           text        not null,
    entry                bytea       not null,
    subscription         text        not null,
    subscription_version bigint      not null,
    uid                  text        not null,
    recurrence           timestamptz,
    start                timestamptz not null,
    anchor               timestamptz not null,
    fire                 timestamptz not null,
    before               interval    not null,
    previous_start       timestamptz,
    previous_anchor      timestamptz,
    facts                jsonb       not null,
    state                text        not null check (state in ('pending', 'emitted', 'skipped', 'removed')),
    receiptid            uuid,
    emitted              timestamptz,
    outcome              text,
    reason               text,
    recorded_at          timestamptz not null default clock_timestamp(),
    primary key (tenant_id, calendar, occurrence),
    check ((receiptid is null) = (emitted is null)),
    check ((state = 'emitted') = (emitted is not null)),
    check (state in ('pending', 'emitted') or reason is not null)
);
create index calendar_instant_pending on execution.calendar_instant (tenant_id, calendar, fire) where state = 'pending';
create index calendar_instant_by_entry on execution.calendar_instant (tenant_id, calendar, entry, recorded_at);
create index calendar_instant_by_fire on execution.calendar_instant (tenant_id, subscription, fire);
create index calendar_instant_by_receipt on execution.calendar_instant (tenant_id, receiptid) where receiptid is not null;
create index calendar_instant_undecided on execution.calendar_instant (emitted) where state = 'emitted' and outcome is null
