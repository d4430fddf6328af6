-- name: fill
-- So many messages as deposits leave them, with ids of now. Arguments: how many, tenant, agent, subscriptions.
with clock as (
    select clock_timestamp() as at
), box as (
    insert into mailbox.box (tenant_id, agent) values ($2, $3) on conflict do nothing
), flow as (
    insert into mailbox.flow (tenant_id, agent, subscription, last_tag, deposits)
    select $2, $3, 's' || n, 1000 * ($1 / $4), $1 / $4 from generate_series(0, $4 - 1) as n
), deposited as (
    insert into mailbox.message (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority, order_key,
        ready_at, max_attempts, lease_seconds, max_run_seconds, max_age_seconds, lineage, context, deposited_at
    )
    select
        $2, (substr(mailbox.first_id(clock.at)::text, 1, 13) || '-7' || substr(lpad(to_hex(n), 19, '0'), 1, 3)
            || '-8' || substr(lpad(to_hex(n), 19, '0'), 4, 3) || '-' || substr(lpad(to_hex(n), 19, '0'), 8))::uuid,
        $3, 's' || n % $4, 1, 'Draft a reply.',
        json_build_array(json_build_object('id', n::text, 'source', '/b', 'type', 'bench', 'specversion', '1.0',
            'data', repeat('x', 190))),
        0, 1000 * (n / $4), clock.at, 5, 60, 3600, 86400, '[]', '{}', clock.at
    from generate_series(1, $1::integer) as n, clock
    returning *
)
insert into mailbox.work (
    tenant_id, id, agent, subscription, order_key, state, due, ready_at, max_attempts, lease_seconds,
    max_run_seconds, max_age_seconds
)
select
    tenant_id, id, agent, subscription, order_key, 'ready', true, ready_at, max_attempts, lease_seconds,
    max_run_seconds, max_age_seconds
from deposited

-- name: bloat
select s.n_dead_tup as dead, pg_total_relation_size(s.relid) as bytes
from pg_stat_user_tables s where s.relid = 'mailbox.work'::regclass
