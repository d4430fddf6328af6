alter table control.catalog_object drop constraint catalog_object_kind_check;

alter table control.catalog_object add constraint catalog_object_kind_check check (
    kind in ('Tenant', 'Agent', 'Endpoint', 'Token', 'Subscription', 'Principal', 'Grant', 'Policy')
);

-- No event: it changes with nearly every request and says nothing about what was decided.
create table control.token_use (
    tenant_id    text        not null,
    token        text        not null,
    last_used_at timestamptz not null,
    primary key (tenant_id, token)
);
