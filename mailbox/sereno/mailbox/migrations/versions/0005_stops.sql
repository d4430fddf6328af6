alter table mailbox.stop add column id uuid not null default gen_random_uuid();

-- Stops that ended and left their backlog for a person: it stays held until the same scope is released once more.
create table mailbox.stop_review (
    scope text primary key,
    id uuid not null,
    reason text not null,
    principal text not null,
    ended_at timestamptz not null default clock_timestamp()
);

-- The names of every scope that covers this; a null is nothing of that kind. What `Scope.covers` says, for statements.
create function mailbox.scopes_over(p_tenant text, p_agent text, p_subscription text, p_source text)
returns text[] language sql immutable parallel safe as $$
    select array_remove(array[
        '*', p_tenant, p_tenant || '/agent/' || p_agent, p_tenant || '/subscription/' || p_subscription,
        case when p_source like 'mcp/%' then p_tenant || '/connector/' || substr(p_source, 5) end,
        p_tenant || '/family/' || split_part(p_source, '/', 1), '*/family/' || split_part(p_source, '/', 1)
    ], null)
$$;

create or replace function mailbox.stop_scopes(p_tenants text[]) returns setof text language plpgsql volatile as $$
begin
    perform pg_advisory_xact_lock_shared(mailbox.stop_key());
    return query
        select s.scope from mailbox.stop s where split_part(s.scope, '/', 1) = any(p_tenants || '*'::text);
end
$$;
