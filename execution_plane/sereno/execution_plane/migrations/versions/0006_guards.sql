-- What the guards say is read whole and never searched in: as text it costs the delivering transaction less.
alter table execution.verdict
    alter column numbers drop default,
    alter column guards type json using guards::json,
    alter column numbers type json using numbers::json;

alter table execution.verdict alter column numbers set default '{}';

alter table execution.dedup
    drop constraint dedup_outcome_check,
    add constraint dedup_outcome_check check (outcome in
        ('delivered', 'merged', 'held', 'suspended', 'awaiting_verdict', 'dropped'));

-- Arrivals are two half windows: length of a half in seconds, number of the half since 1970, its count, that before.
alter table execution.subscription_state
    add column arrivals bigint[] constraint subscription_state_arrivals check (cardinality(arrivals) = 4);

-- Each event rewrites its subscription's row: with room on the page no index is touched.
alter table execution.subscription_state set (
    fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0
);

-- What one subscription remembers of one object; nothing of it counts any more after `forget_at`.
create table execution.subject_state (
    tenant_id    text        not null,
    subscription text        not null,
    subject      text        not null,
    arrivals     bigint[]    constraint subject_state_arrivals check (cardinality(arrivals) = 4),
    turns        bigint[]    constraint subject_state_turns check (cardinality(turns) = 4),
    actor        text,
    actor_before text,
    forget_at    timestamptz not null,
    primary key (tenant_id, subscription, subject)
);
create index subject_state_by_age on execution.subject_state (forget_at);

-- What is used of one budget in one calendar period; locked in key order, after the state of subscriptions.
create table execution.budget (
    tenant_id text        not null,
    scope     text        not null constraint budget_scope check (scope in ('tenant', 'agent', 'subscription')),
    name      text        not null,
    measure   text        not null,
    per       text        not null constraint budget_per check (per in ('min', 'hour', 'day', 'week', 'month')),
    starts_at timestamptz not null,
    used      numeric     not null default 0,
    primary key (tenant_id, scope, name, measure, per, starts_at)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- What a message took: lines are [scope, name, measure, per, start, amount], reported is [amount, currency].
-- Without lines it has given everything back. `closed` is how its message ended, once that was reconciled.
create table execution.budget_reservation (
    tenant_id   text        not null,
    message_id  uuid        not null,
    lines       json        not null,
    reported    json        not null default '[]',
    reserved_at timestamptz not null,
    closed      text        constraint budget_reservation_closed check (closed in ('acked', 'dead')),
    closed_at   timestamptz,
    primary key (tenant_id, message_id),
    constraint budget_reservation_end check ((closed is null) = (closed_at is null))
);
create index budget_reservation_by_age on execution.budget_reservation (closed_at) where closed_at is not null;

-- What was used, each report once: by a wake-up when its message closes (`reference` is the run), by an evaluation, by a
-- test. One row a currency; `currency` is empty where no cost was reported. `reserved` is what had been taken for it.
create table execution.usage (
    tenant_id    text        not null,
    kind         text        not null constraint usage_kind check (kind in ('wake', 'evaluation', 'test')),
    reference    text        not null,
    currency     text        not null default '',
    at           timestamptz not null,
    subscription text        not null,
    agent        text        not null,
    model        text,
    outcome      text        not null,
    cost         numeric,
    reserved     numeric,
    primary key (tenant_id, kind, reference, currency),
    constraint usage_cost check ((cost is null) or (currency <> ''))
);
create index usage_by_time on execution.usage (tenant_id, at);

-- A batch until it is a message, and afterwards what it became. At most one of each key takes more items.
create table execution.batch (
    tenant_id     text        not null,
    id            uuid        not null,
    subscription  text        not null,
    key           text        not null,
    serial_key    text,
    opened        timestamptz not null,
    items         integer     not null constraint batch_items check (items >= 1),
    size          bigint      not null constraint batch_size check (size >= 0),
    ancestors     json        not null,
    sealed        boolean     not null default false,
    due_at        timestamptz,
    message_id    uuid,
    closed_at     timestamptz,
    closed_reason text,
    primary key (tenant_id, id),
    constraint batch_due check ((due_at is null) = (closed_at is not null)),
    constraint batch_closed check ((closed_at is null) = (closed_reason is null)),
    constraint batch_message check (message_id is null or closed_at is not null)
);
create unique index batch_open on execution.batch (tenant_id, subscription, key)
    where closed_at is null and not sealed;
create index batch_by_subscription on execution.batch (tenant_id, subscription) where closed_at is null;
create index batch_by_due on execution.batch (due_at) where closed_at is null;
create index batch_by_message on execution.batch (tenant_id, message_id) where message_id is not null;
create index batch_by_age on execution.batch (closed_at) where closed_at is not null;

-- Its events, by their receipts.
create table execution.batch_item (
    tenant_id text   not null,
    batch_id  uuid   not null,
    place     bigint not null,
    receiptid uuid   not null,
    primary key (tenant_id, batch_id, place)
);

-- Why a subscription, or one object of it, stands still. Only a person ends it.
create table execution.suspension (
    tenant_id    text        not null,
    id           uuid        not null,
    subscription text        not null,
    cause        text        not null constraint suspension_cause check
        (cause in ('budget', 'storm', 'errors', 'no_change', 'expression_cost')),
    subject      text,
    at           timestamptz not null,
    receiptid    text        not null,
    numbers      json        not null,
    ended_at     timestamptz,
    ended_by     text,
    reason       text,
    held         text        constraint suspension_held check (held in ('deliver', 'drop', 'review')),
    released     boolean     not null default false,
    primary key (tenant_id, id),
    constraint suspension_end check ((ended_at is null) = (ended_by is null) and (ended_at is null) = (held is null))
);
create index suspension_to_release on execution.suspension (tenant_id, id)
    where ended_at is not null and held <> 'review' and not released;
create index suspension_open on execution.suspension (tenant_id, subscription) where ended_at is null;

-- Receipts that a subscription has yet to hear of, in the order in which they enter again.
create table execution.held (
    tenant_id    text        not null,
    receiptid    uuid        not null,
    subscription text        not null,
    position     bigint      generated always as identity,
    cause        text        not null,
    scope        text,
    suspension   uuid,
    held_at      timestamptz not null,
    primary key (tenant_id, receiptid, subscription)
);
create index held_by_cause on execution.held (cause, tenant_id, position);
create index held_by_suspension on execution.held (tenant_id, suspension) where suspension is not null;
create index held_by_subscription on execution.held (tenant_id, subscription, position);

insert into execution.held (tenant_id, receiptid, subscription, cause, scope, held_at)
select tenant_id, receiptid, subscription, reason, numbers ->> 'scope', decided_at
from execution.verdict where outcome = 'held'
order by decided_at, receiptid;

drop index execution.verdict_held;

-- Candidates that wait for a verdict. The token names the evaluator's lease.
create table execution.evaluation (
    tenant_id    text        not null,
    receiptid    uuid        not null,
    subscription text        not null,
    version      bigint      not null,
    criterion    text        not null,
    ancestors    json        not null,
    requested    timestamptz not null,
    ready_at     timestamptz not null,
    attempts     integer     not null default 0,
    token        bigint,
    leased_until timestamptz,
    last_error   text,
    primary key (tenant_id, receiptid, subscription)
);
create index evaluation_ready on execution.evaluation (ready_at);
create sequence execution.evaluation_token as bigint cache 1;

create table execution.evaluation_patience (
    tenant_id    text    not null,
    subscription text    not null,
    errors       integer not null default 0,
    error        text,
    unchanged    integer not null default 0,
    digest       text,
    slow         integer not null default 0,
    primary key (tenant_id, subscription)
);

-- Until when the end of each message has been taken account of.
create table execution.reconciled (
    only_row boolean     primary key default true check (only_row),
    at       timestamptz not null
);

insert into execution.reconciled (at) values (clock_timestamp());
