-- One row a call of an evaluator: digests of the items, how many characters left, and how many values of which kind were
-- hidden. Nothing of what was sent.
create table execution.egress (
    at           timestamptz not null default clock_timestamp(),
    id           bigint      generated always as identity primary key,
    tenant_id    text        not null,
    subscription text        not null,
    evaluator    text        not null,
    model        text        not null,
    egress       text        not null constraint egress_kind check (egress in ('local', 'remote')),
    host         text,
    items        text[]      not null,
    characters   bigint      not null,
    redacted     jsonb       not null
);
create index egress_by_time on execution.egress (tenant_id, at);
