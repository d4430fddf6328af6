-- The mailbox: immutable messages, their small mutable work rows, closed work, the event log, notices.
-- No foreign keys on hot rows; every table leads with the tenant; all counters and ids are bigint.

create sequence mailbox.message_sequence as bigint cache 64;

-- The fence. CACHE 1: a cached block would hand out tokens out of order and lose them in a crash.
create sequence mailbox.token_sequence as bigint minvalue 1 maxvalue 1099511627775 cache 1;

-- The upper bits of every token; raised when the database may have gone back in time (restore, fail-over).
create table mailbox.token_epoch (
    only_row boolean primary key default true check (only_row),
    epoch bigint not null check (epoch between 1 and 8388607)
);

insert into mailbox.token_epoch (epoch) values (1);

-- One row is the event "deposited": it never changes.
create table mailbox.message (
    tenant_id text not null,
    id uuid not null,
    seq bigint not null default nextval('mailbox.message_sequence'),
    agent text not null,
    subscription text not null,
    subscription_version bigint not null,
    instruction text not null,
    envelopes jsonb not null check (jsonb_typeof(envelopes) = 'array'),
    priority integer not null,
    order_key bigint not null,
    ready_at timestamptz not null,
    serial_key text,
    max_attempts integer not null check (max_attempts >= 1),
    lease_seconds double precision not null check (lease_seconds > 0),
    max_run_seconds double precision not null check (max_run_seconds > 0),
    max_age_seconds double precision not null check (max_age_seconds > 0),
    lineage jsonb not null,
    context jsonb not null,
    deposited_at timestamptz not null,
    primary key (tenant_id, id)
);

create index message_by_agent on mailbox.message (tenant_id, agent, seq);

-- The mutable hot part of a message that is not closed.
create table mailbox.work (
    tenant_id text not null,
    id uuid not null,
    run_id uuid not null,
    seq bigint not null,
    agent text not null,
    subscription text not null,
    serial_key text,
    on_behalf_of text,
    order_key bigint not null,
    state text not null constraint work_state check (state in ('ready', 'leased', 'parked')),
    due boolean not null,
    ready_at timestamptz not null,
    held_by text[] not null default '{}',
    still_since timestamptz,
    attempts integer not null default 0,
    max_attempts integer not null,
    lease_seconds double precision not null,
    max_run_seconds double precision not null,
    max_age_seconds double precision not null,
    first_claimed_at timestamptz,
    give_up_at timestamptz,
    token bigint,
    granted_seconds double precision,
    claimed_at timestamptz,
    leased_until timestamptz,
    hard_deadline timestamptz,
    holder text,
    incarnation text,
    cancel text,
    cancel_to text constraint work_cancel_to check (cancel_to in ('ready', 'dead')),
    ended text constraint work_ended check (ended in ('released', 'expired', 'cancelled', 'parked')),
    primary key (tenant_id, id),
    constraint work_attempts check (attempts between 0 and max_attempts),
    constraint work_lease check (
        state <> 'leased'
        or (token is not null and attempts >= 1 and ended is null and holder is not null
            and leased_until <= hard_deadline and give_up_at is not null)
    ),
    constraint work_cancel check ((cancel is null) = (cancel_to is null) and (cancel is null or state = 'leased')),
    constraint work_still check ((held_by = '{}' and state <> 'parked') = (still_since is null))
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

create index work_ready on mailbox.work (tenant_id, agent, order_key, seq)
    where state = 'ready' and due and held_by = '{}';
create index work_delayed on mailbox.work (tenant_id, agent, ready_at)
    where state = 'ready' and not due;
create unique index work_token on mailbox.work (token) where state = 'leased';
create index work_expiry on mailbox.work (leased_until, id) where state = 'leased';
create index work_give_up on mailbox.work (give_up_at, id) where state = 'ready' and give_up_at is not null;
create index work_subscription on mailbox.work (tenant_id, subscription);

-- Closed work, apart from the hot table.
create table mailbox.closed (
    tenant_id text not null,
    id uuid not null,
    run_id uuid not null,
    agent text not null,
    subscription text not null,
    state text not null constraint closed_state check (state in ('acked', 'dead')),
    reason text,
    attempts integer not null,
    token bigint,
    ended text,
    closed_at timestamptz not null,
    primary key (tenant_id, id),
    constraint closed_reason check (state = 'acked' or reason is not null)
);

create index closed_dead on mailbox.closed (tenant_id, agent, closed_at) where state = 'dead';

-- One row per transition, appended in the same statement. Followers read by (xid, position).
create table mailbox.event (
    tenant_id text not null,
    position bigint generated always as identity,
    xid xid8 not null default pg_current_xact_id(),
    at timestamptz not null,
    kind text not null,
    version smallint not null default 1,
    message_id uuid,
    run_id uuid,
    agent text,
    token bigint,
    principal text not null,
    on_behalf_of text,
    data jsonb not null default '{}'
) partition by range (at);

-- Days get their own partitions, made ahead; whatever has none yet lands here.
create table mailbox.event_default partition of mailbox.event default;

create index event_message on mailbox.event (tenant_id, message_id, position);
create index event_follow on mailbox.event (xid, position);
create index event_token on mailbox.event using brin (token) with (pages_per_range = 16, autosummarize = on);

-- One row per cause, with a count; what people are told.
create table mailbox.notice (
    tenant_id text not null,
    cause text not null,
    kind text not null,
    text text not null,
    data jsonb not null default '{}',
    count bigint not null check (count >= 1),
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (tenant_id, cause)
);
