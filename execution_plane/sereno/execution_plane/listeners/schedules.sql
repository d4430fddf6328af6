-- name: manifests
SELECT tenant_id, epoch, version, received_at FROM execution.manifest;

-- name: lock_catalog
SELECT pg_advisory_xact_lock(hashtextextended('sereno.manifest/' || $1, 0));

-- name: declared
SELECT object FROM execution.catalog
WHERE tenant_id = $1 AND key LIKE 'subscription/%' AND object -> 'spec' -> 'source' -> 'time' IS NOT NULL;

-- name: of_tenant
SELECT * FROM execution.schedule WHERE tenant_id = $1 ORDER BY schedule FOR UPDATE;

-- name: put
INSERT INTO execution.schedule
    (tenant_id, schedule, subscription, subscription_version, spec, misfire, paused, expires, next_due, last_instant)
SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::jsonb[], $6::text[], $7::boolean[],
    $8::timestamptz[], $9::timestamptz[], $10::timestamptz[])
ON CONFLICT (tenant_id, schedule) DO UPDATE SET
    subscription = excluded.subscription, subscription_version = excluded.subscription_version,
    spec = excluded.spec, misfire = excluded.misfire, paused = excluded.paused, expires = excluded.expires,
    next_due = excluded.next_due, last_instant = excluded.last_instant, updated_at = clock_timestamp();

-- name: remove_absent
DELETE FROM execution.schedule WHERE tenant_id = $1 AND schedule <> ALL ($2::uuid[]);

-- name: claim_due
SELECT * FROM execution.schedule
WHERE next_due <= $1
ORDER BY next_due
LIMIT $2
FOR UPDATE SKIP LOCKED;

-- name: advance
UPDATE execution.schedule AS schedule
SET next_due = step.next_due, last_instant = step.last_instant, updated_at = clock_timestamp()
FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])
    AS step (tenant_id, schedule, next_due, last_instant)
WHERE schedule.tenant_id = step.tenant_id AND schedule.schedule = step.schedule;

-- name: emit
INSERT INTO execution.due_instant (tenant_id, schedule, instant, subscription, receiptid, emitted)
SELECT due.*, $6 FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::text[], $5::uuid[])
    AS due (tenant_id, schedule, instant, subscription, receiptid)
ON CONFLICT DO NOTHING
RETURNING receiptid;

-- name: skip
INSERT INTO execution.due_instant
    (tenant_id, schedule, instant, subscription, outcome, reason, skipped, skipped_from)
SELECT tenant_id, schedule, instant, subscription, 'skipped', reason, skipped, skipped_from
FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[])
    AS due (tenant_id, schedule, instant, subscription, reason, skipped, skipped_from)
ON CONFLICT DO NOTHING;
