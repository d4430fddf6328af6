-- name: settings_that_lose_data
SELECT name FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'

-- name: rights_beyond_the_own_schema
SELECT role, space.nspname AS schema
FROM unnest($1::text[]) AS role
JOIN pg_namespace AS space ON space.nspname IN ('control', 'execution', 'mailbox')
JOIN pg_class AS relation ON relation.relnamespace = space.oid AND relation.relkind IN ('r', 'p')
WHERE (role, space.nspname) NOT IN (
        ('sereno_control', 'control'), ('sereno_execution', 'execution'), ('sereno_execution', 'mailbox')
    )
    AND has_schema_privilege(role, space.oid, 'USAGE')
    AND has_table_privilege(role, relation.oid, 'SELECT')
GROUP BY role, space.nspname
ORDER BY role, space.nspname

-- name: oldest_transaction
SELECT pid, application_name AS application,
       extract(epoch FROM clock_timestamp() - xact_start)::float8 AS age_seconds
FROM pg_stat_activity
WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
ORDER BY xact_start
LIMIT 1

-- name: clock
SELECT extract(epoch FROM clock_timestamp())::float8
