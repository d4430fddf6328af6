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

-- name: calendars
SELECT count(*) FROM execution.calendar WHERE $1::text IS NULL OR tenant_id = $1;

-- name: calendar_ends
-- How what was due of calendars ended; what is still to come has no end yet.
SELECT CASE
        WHEN state IN ('skipped', 'removed') THEN state
        WHEN state = 'pending' OR outcome IS NULL THEN 'pending'
        WHEN outcome = 'delivered' AND emitted - fire > $3::interval THEN 'late'
        WHEN outcome = 'delivered' THEN 'fired'
        WHEN outcome = 'merged' THEN 'merged'
        WHEN outcome IN ('held', 'awaiting_verdict') THEN 'held'
        ELSE 'refused'
    END AS ended, count(*) AS count
FROM execution.calendar_instant
WHERE ($1::text IS NULL OR tenant_id = $1) AND (state <> 'pending' OR fire <= $2)
GROUP BY 1;

-- name: calendar_findings
-- What is due and nobody wrote down, was never decided, or is not what its calendar names next.
SELECT tenant_id, subscription, 'undecided' AS kind, fire AS instant, 'emitted at ' || emitted || ' and never decided' AS message
FROM execution.calendar_instant
WHERE ($1::text IS NULL OR tenant_id = $1) AND state = 'emitted' AND outcome IS NULL AND emitted < $2::timestamptz - $3::interval
UNION ALL
SELECT i.tenant_id, i.subscription, 'overdue', i.fire, 'due, and nobody has written it down'
FROM execution.calendar_instant i
WHERE ($1::text IS NULL OR i.tenant_id = $1) AND i.state = 'pending' AND i.fire < $2::timestamptz - $3::interval
    AND NOT EXISTS (
        SELECT FROM mailbox.stop
        WHERE scope = ANY (mailbox.scopes_over(i.tenant_id, NULL, i.subscription, 'calendar'))
    )
UNION ALL
SELECT f.tenant_id, f.subscription, 'astray', coalesce(p.first, f.next_due, $2),
    'next is ' || coalesce(f.next_due::text, 'none') || ' and should be ' || coalesce(p.first::text, 'none')
FROM execution.calendar f
CROSS JOIN LATERAL (
    SELECT min(fire) AS first FROM execution.calendar_instant i
    WHERE i.tenant_id = f.tenant_id AND i.calendar = f.calendar AND i.state = 'pending'
) AS p
WHERE ($1::text IS NULL OR f.tenant_id = $1) AND f.next_due IS DISTINCT FROM p.first
ORDER BY 1, 2, 4
