-- name: history
SELECT tenant_id, schedule, subscription, instant, coalesce(skipped_from, instant) AS first,
    greatest(skipped, 1) AS count, subscription_version, emitted, outcome, reason
FROM execution.due_instant
WHERE $1::text IS NULL OR tenant_id = $1
ORDER BY tenant_id, schedule, instant;

-- name: without_history
SELECT tenant_id, schedule, subscription FROM execution.schedule s
WHERE ($1::text IS NULL OR tenant_id = $1)
    AND NOT EXISTS (SELECT FROM execution.due_instant d WHERE (d.tenant_id, d.schedule) = (s.tenant_id, s.schedule))
ORDER BY tenant_id, schedule;

-- name: schedules
SELECT * FROM execution.schedule
WHERE (tenant_id, schedule) IN (SELECT * FROM unnest($1::text[], $2::uuid[]));

-- name: rules
SELECT DISTINCT tenant_id, key, version,
    convert_from(canonical, 'UTF8')::jsonb -> 'spec' -> 'source' -> 'time' AS time
FROM execution.catalog_version
WHERE (tenant_id, key) IN (SELECT * FROM unnest($1::text[], $2::text[]));

-- name: clock
SELECT clock_timestamp();
