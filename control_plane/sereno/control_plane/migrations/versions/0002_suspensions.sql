-- What the execution plane reported, and what a person said; lifted ones travel in the manifest until they have ended.
create table control.suspension (
    tenant_id    text        not null,
    id           uuid        not null,
    subscription text        not null,
    cause        text        not null,
    subject      text,
    at           timestamptz not null,
    sentence     text        not null,
    held         text        constraint suspension_held check (held in ('deliver', 'drop', 'review')),
    lifted_by    text,
    lifted_at    timestamptz,
    reason       text,
    ended_at     timestamptz,
    primary key (tenant_id, id),
    constraint suspension_lifted check ((lifted_by is null) = (held is null) and (held is null) = (lifted_at is null))
);
create index suspension_of_subscription on control.suspension (tenant_id, subscription) where ended_at is null
