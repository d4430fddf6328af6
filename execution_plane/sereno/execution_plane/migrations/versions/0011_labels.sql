-- Each test of a condition: what the pace of tests is counted by. Nothing of what was tested.
create table execution.condition_test (
    tenant_id    text        not null,
    id           uuid        not null,
    subscription text        not null,
    by_principal text        not null,
    at           timestamptz not null default clock_timestamp(),
    primary key (tenant_id, id)
);
create index condition_test_by_time on execution.condition_test (tenant_id, at);
-- What people say of a verdict; `fires` is what had been judged, against which `label` stands.
create table execution.label (
    tenant_id         text        not null,
    receiptid         uuid        not null,
    subscription      text        not null,
    label             text        not null constraint label_word check (label in ('right', 'wrong')),
    fires             boolean     not null,
    criterion_version text        not null,
    by_principal      text        not null,
    at                timestamptz not null default clock_timestamp(),
    primary key (tenant_id, receiptid, subscription)
);
create index label_by_subscription on execution.label (tenant_id, subscription, at);
-- A criterion that was judged, by which model and prompt, and whether another one makes it due for a replay.
create table execution.criterion (
    tenant_id         text             not null,
    subscription      text             not null,
    criterion_version text             not null,
    criterion         text             not null,
    min_confidence    double precision not null,
    model             text             not null,
    prompt            text             not null,
    first_at          timestamptz      not null default clock_timestamp(),
    recheck_since     timestamptz,
    recheck_reason    text,
    replayed_at       timestamptz,
    replay            jsonb,
    primary key (tenant_id, subscription, criterion_version)
);
create index egress_by_age on execution.egress (at);
