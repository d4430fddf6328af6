-- A projection of the events of streams `approval/<id>`: by it they are found.
create table control.approval (
    tenant_id    text        not null,
    id           uuid        not null,
    subject_kind text        not null,
    subject_name text        not null,
    digest       text        not null,
    asked_by     text        not null,
    state        text        not null check (state in ('pending', 'approved', 'denied', 'superseded')),
    expires_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (tenant_id, id)
);
create index approval_by_subject on control.approval (tenant_id, subject_kind, subject_name, state);
create index approval_by_digest on control.approval (tenant_id, asked_by, digest);
