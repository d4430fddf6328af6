-- name: lock_roles
SELECT pg_advisory_xact_lock(hashtext('sereno.roles'))

-- name: create_role
SELECT format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE', $1::text)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)

-- name: set_password
SELECT format('ALTER ROLE %I LOGIN PASSWORD %L', $1::text, $2::text)

-- name: limit_transactions
SELECT format('ALTER ROLE %I SET %I TO %L', $1::text, setting.name, '60s')
FROM pg_settings AS setting
WHERE setting.name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')

-- name: create_database
SELECT format('CREATE DATABASE %I TEMPLATE %I ENCODING %L LC_COLLATE %L LC_CTYPE %L', $1::text, $2::text, 'UTF8', 'C', 'C')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = $1)

-- name: close_database
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database())
UNION ALL
SELECT format('GRANT CONNECT ON DATABASE %I TO sereno_control, sereno_execution, sereno_worker', current_database())
UNION ALL
SELECT 'REVOKE ALL ON SCHEMA public FROM PUBLIC'

-- name: open_schema
SELECT format(command, $1::text, $2::text)
FROM unnest(ARRAY[
    'REVOKE ALL ON SCHEMA %1$I FROM PUBLIC',
    'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %1$I FROM PUBLIC',
    'GRANT USAGE ON SCHEMA %1$I TO %2$I',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %1$I TO %2$I',
    'GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA %1$I TO %2$I',
    'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %1$I TO %2$I',
    'REVOKE INSERT, UPDATE, DELETE ON %1$I.alembic_version FROM %2$I'
]) AS command

-- name: close_logs
SELECT format('REVOKE UPDATE, DELETE ON %I.%I FROM %I', space.nspname, thing.relname, $1::text)
FROM pg_class AS thing JOIN pg_namespace AS space ON space.oid = thing.relnamespace
WHERE space.nspname = $2 AND thing.relname IN ('event', 'audit_record') AND thing.relkind = 'r'

-- name: open_to_worker
SELECT format('GRANT USAGE ON SCHEMA %I TO sereno_worker', space.nspname)
FROM pg_proc AS routine JOIN pg_namespace AS space ON space.oid = routine.pronamespace
WHERE space.nspname = 'mailbox' AND routine.prosecdef AND routine.proname = 'ack_in_transaction'
UNION
SELECT format('GRANT EXECUTE ON FUNCTION %s TO sereno_worker', routine.oid::regprocedure)
FROM pg_proc AS routine JOIN pg_namespace AS space ON space.oid = routine.pronamespace
WHERE space.nspname = 'mailbox' AND routine.prosecdef AND routine.proname = 'ack_in_transaction'

-- name: may_create_roles
SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user

-- name: revision
-- {schema} is the name of one of our schemas.
SELECT version_num FROM {schema}.alembic_version
