-- The mailbox: immutable messages, their small mutable work rows, the dead, the event log, slots, notices.
-- No foreign keys on hot rows; every table leads with the tenant; all counters and ids are bigint.

-- The fence. CACHE 1: a cached block would hand out tokens out of order and lose them in a crash.
create sequence mailbox.token_sequence as bigint minvalue 1 maxvalue 1099511627775 cache 1;

-- The line of each serial key.
create sequence mailbox.place_sequence as bigint cache 1;

-- The upper bits of every token; raised when the database may have gone back in time (restore, fail-over).
create table mailbox.token_epoch (
    only_row boolean primary key default true check (only_row),
    epoch bigint not null check (epoch between 1 and 8388607),
    system_identifier text,
    timeline bigint,
    raised_at timestamptz not null default clock_timestamp()
);

insert into mailbox.token_epoch (epoch) values (1);

-- One row is the event "deposited": it never changes. By day of the id (UUIDv7), so a key stays unique over days.
create table mailbox.message (
    tenant_id text not null,
    id uuid not null,
    agent text not null,
    subscription text not null,
    subscription_version bigint not null,
    instruction text not null,
    envelopes json not null,
    priority integer not null,
    order_key bigint not null,
    ready_at timestamptz not null,
    serial_key text,
    place bigint,
    max_attempts integer not null check (max_attempts >= 1),
    lease_seconds double precision not null check (lease_seconds > 0),
    max_run_seconds double precision not null check (max_run_seconds > 0),
    max_age_seconds double precision not null check (max_age_seconds > 0),
    lineage json not null,
    context json not null,
    deposited_at timestamptz not null,
    primary key (tenant_id, id)
) partition by range (id);

create table mailbox.message_default partition of mailbox.message default;

-- A mailbox: how far its fair order has come, the highest priority ever put in, and its limit.
create table mailbox.box (
    tenant_id text not null,
    agent text not null,
    virtual_time bigint not null default 0,
    top_priority integer not null default 0,
    concurrency integer check (concurrency >= 0),
    stamped_at timestamptz not null default '-infinity',
    primary key (tenant_id, agent)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- The last place that a subscription took in the fair order of a mailbox.
create table mailbox.flow (
    tenant_id text not null,
    agent text not null,
    subscription text not null,
    last_tag bigint not null,
    deposits bigint not null,
    primary key (tenant_id, agent, subscription)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- One row a unit of an agent's limit; free when its token is not that of a live lease.
create table mailbox.slot (
    tenant_id text not null,
    agent text not null,
    number integer not null,
    token bigint,
    primary key (tenant_id, agent, number)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- One row a serial key: who promotes or joins its line holds it. `stalled` asks the reaper to look.
create table mailbox.serial_slot (
    tenant_id text not null,
    agent text not null,
    serial_key text not null,
    stalled boolean not null default false,
    primary key (tenant_id, agent, serial_key)
);

create index serial_slot_stalled on mailbox.serial_slot (tenant_id, agent, serial_key) where stalled;

-- The mutable hot part of a message that is not closed.
create table mailbox.work (
    token bigint,
    granted_seconds double precision,
    claimed_at timestamptz,
    leased_until timestamptz,
    hard_deadline timestamptz,
    first_claimed_at timestamptz,
    give_up_at timestamptz,
    still_since timestamptz,
    ready_at timestamptz not null,
    order_key bigint not null,
    place bigint,
    id uuid not null,
    run_id uuid,
    attempts integer not null default 0,
    max_attempts integer not null,
    due boolean not null,
    behind boolean not null default false,
    answered boolean not null default false,
    state text not null constraint work_state check (state in ('ready', 'leased', 'parked')),
    tenant_id text not null,
    agent text not null,
    subscription text not null,
    serial_key text,
    on_behalf_of text,
    held_by text[],
    holder text,
    incarnation text,
    cancel text,
    cancel_to text constraint work_cancel_to check (cancel_to in ('ready', 'dead')),
    ended text constraint work_ended check (ended in ('released', 'expired', 'cancelled', 'parked')),
    primary key (tenant_id, id),
    constraint work_attempts check (attempts between 0 and max_attempts),
    constraint work_lease check (
        state <> 'leased'
        or (token is not null and attempts >= 1 and ended is null and holder is not null and not behind
            and leased_until <= hard_deadline and give_up_at is not null)
    ),
    constraint work_cancel check ((cancel is null) = (cancel_to is null) and (cancel is null or state = 'leased')),
    constraint work_still check ((held_by is null and state <> 'parked') = (still_since is null)),
    constraint work_held check (held_by <> '{}'),
    constraint work_serial check ((serial_key is null) = (place is null) and (serial_key is not null or not behind))
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

create index work_ready on mailbox.work (tenant_id, agent, order_key, id)
    where state = 'ready' and due and held_by is null and not behind;
create index work_delayed on mailbox.work (tenant_id, agent, ready_at)
    where state = 'ready' and not due;
create unique index work_token on mailbox.work (token) where state = 'leased';
create index work_expiry on mailbox.work (leased_until) where state = 'leased';
create index work_give_up on mailbox.work (give_up_at, id) where state = 'ready' and give_up_at is not null;
create index work_subscription on mailbox.work (tenant_id, subscription) where state <> 'leased';
create unique index work_line on mailbox.work (tenant_id, agent, serial_key, place) where serial_key is not null;
create unique index work_head on mailbox.work (tenant_id, agent, serial_key)
    where serial_key is not null and not behind;

-- What parked work waits for.
create table mailbox.parked (
    tenant_id text not null,
    id uuid not null,
    waiting_for text not null constraint parked_waiting_for check (waiting_for in ('approval', 'question', 'dependency')),
    question text,
    options json,
    dependency uuid,
    deadline timestamptz,
    remind_after double precision,
    remind_at timestamptz,
    primary key (tenant_id, id)
);

create index parked_deadline on mailbox.parked (deadline) where deadline is not null;
create index parked_reminder on mailbox.parked (remind_at) where remind_at is not null;
create index parked_dependency on mailbox.parked (tenant_id, dependency) where dependency is not null;

-- What it was answered; handed over with the claims that follow.
create table mailbox.answer (
    tenant_id text not null,
    message_id uuid not null,
    number bigint generated always as identity,
    run_id uuid,
    at timestamptz not null,
    waiting_for text not null,
    answer json not null,
    principal text not null,
    primary key (tenant_id, message_id, number)
);

-- Closed without success; redrive brings it back. What was acknowledged is only in the log.
create table mailbox.dead (
    tenant_id text not null,
    id uuid not null,
    run_id uuid,
    agent text not null,
    subscription text not null,
    serial_key text,
    on_behalf_of text,
    reason text not null,
    attempts integer not null,
    max_attempts integer not null,
    token bigint,
    ended text,
    closed_at timestamptz not null,
    primary key (tenant_id, id)
);

create index dead_by_agent on mailbox.dead (tenant_id, agent, closed_at);

-- One row per transition, appended in the same statement. Followers read in the order of (xid, position).
-- What a kind needs stands in columns; `data` is for results, usage and progress.
create table mailbox.event (
    position bigint generated always as identity,
    xid xid8 not null default pg_current_xact_id(),
    at timestamptz not null,
    token bigint,
    until timestamptz,
    seconds double precision,
    message_id uuid not null,
    run_id uuid,
    attempts integer,
    version smallint not null default 1,
    kind text not null,
    tenant_id text not null,
    agent text not null,
    principal text not null,
    on_behalf_of text,
    detail text,
    data json
) partition by range (at);

-- Days get their own partitions, made ahead; whatever has none yet lands here.
create table mailbox.event_default partition of mailbox.event default;

create index event_message on mailbox.event (message_id);
-- For followers: `at` is within one transaction's limit of where they were.
create index event_at on mailbox.event using brin (at) with (pages_per_range = 16, autosummarize = on);
create index event_token on mailbox.event using brin (token) with (pages_per_range = 16, autosummarize = on);

-- What stands still: nothing of that scope is claimed or delivered. '*' is everything, else a tenant.
create table mailbox.stop (
    scope text primary key,
    reason text not null,
    principal text not null,
    engaged_at timestamptz not null default clock_timestamp()
);

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

-- The log as people and explain read it: one JSON object says what the kind's columns mean.
create view mailbox.history as
select
    tenant_id, position, xid, at, kind, version, message_id, coalesce(run_id, message_id) as run_id, agent,
    token, principal, on_behalf_of,
    case kind
        when 'claimed' then jsonb_build_object('lease_seconds', seconds, 'incarnation', detail)
        when 'released' then jsonb_build_object('reason', detail, 'ready_at', until)
        when 'expired' then jsonb_build_object('incarnation', detail)
        when 'parked' then jsonb_build_object('waiting_for', detail)
        when 'resumed' then jsonb_build_object('waiting_for', detail)
        when 'cancelled' then jsonb_build_object('cause', detail)
        when 'held' then jsonb_build_object('cause', detail)
        when 'unheld' then jsonb_build_object('cause', detail)
        when 'refused' then jsonb_build_object('refusal', detail)
        when 'emitted' then jsonb_build_object('type', detail)
        when 'acked' then '{}'
        when 'renewed' then '{}'
        when 'carried' then '{}'
        else jsonb_build_object('reason', detail)
    end || coalesce(data::jsonb, '{}') as data
from mailbox.event;

-- Where each message stands, whether open, dead or acknowledged.
create view mailbox.standing as
select
    m.tenant_id, m.id, m.agent, m.subscription, m.subscription_version, m.instruction, m.envelopes, m.priority,
    m.serial_key, m.lineage, m.context, m.max_attempts, m.deposited_at,
    coalesce(w.run_id, d.run_id, a.run_id, m.id) as run_id,
    coalesce(w.state, case when d.id is not null then 'dead' when a.message_id is not null then 'acked' end) as state,
    d.reason, coalesce(w.attempts, d.attempts, a.attempts) as attempts, coalesce(w.ready_at, m.ready_at) as ready_at,
    coalesce(d.closed_at, a.at) as closed_at, coalesce(w.held_by, '{}') as held_by, w.cancel,
    coalesce(w.token, d.token, a.token) as token, w.holder, w.incarnation, w.leased_until, w.hard_deadline,
    w.give_up_at, p.waiting_for, p.question, p.options, p.dependency, p.deadline as waits_until
from mailbox.message m
left join mailbox.work w on w.tenant_id = m.tenant_id and w.id = m.id
left join mailbox.dead d on d.tenant_id = m.tenant_id and d.id = m.id
left join mailbox.parked p on p.tenant_id = m.tenant_id and p.id = m.id
left join lateral (
    select e.message_id, e.run_id, e.token, e.at, e.attempts
    from mailbox.event e
    where e.message_id = m.id and e.tenant_id = m.tenant_id and e.kind = 'acked' and w.id is null and d.id is null
    order by e.position desc
    limit 1
) a on true;
