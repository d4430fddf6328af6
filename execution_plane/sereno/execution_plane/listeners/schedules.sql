-- name: manifests
SELECT tenant_id, epoch, version FROM execution.manifest;

-- name: clock
SELECT clock_timestamp();

-- name: lock_catalog
SELECT pg_advisory_xact_lock(hashtextextended('sereno.manifest/' || $1, 0));

-- name: declared
-- Every time subscription of a tenant that may have a schedule.
SELECT object, sha256 FROM execution.catalog
WHERE tenant_id = $1 AND key LIKE 'subscription/%' AND object -> 'spec' -> 'source' -> 'time' IS NOT NULL
    AND object ->> 'state' IN ('active', 'paused');

-- name: changed
-- Of these, the ones whose schedule was not derived from the object in force.
SELECT c.object, c.sha256
FROM execution.catalog c
LEFT JOIN execution.schedule s
    ON s.tenant_id = c.tenant_id AND s.schedule = (c.object ->> 'id')::uuid AND s.object_sha256 = c.sha256
    AND s.ended IS NULL
WHERE c.tenant_id = $1 AND c.key LIKE 'subscription/%' AND c.object -> 'spec' -> 'source' -> 'time' IS NOT NULL
    AND c.object ->> 'state' IN ('active', 'paused') AND s.schedule IS NULL;

-- name: gone
-- Schedules whose subscription is not declared any more, has no time source or may not fire; why.
SELECT s.*, coalesce(c.object ->> 'state', 'revoked') AS became
FROM execution.schedule s
LEFT JOIN execution.catalog c
    ON c.tenant_id = s.tenant_id AND c.key = 'subscription/' || s.subscription
    AND (c.object ->> 'id')::uuid = s.schedule
WHERE s.tenant_id = $1 AND s.ended IS NULL
    AND (c.key IS NULL OR c.object -> 'spec' -> 'source' -> 'time' IS NULL
        OR c.object ->> 'state' NOT IN ('active', 'paused'))
ORDER BY s.schedule
FOR UPDATE OF s;

-- name: known
SELECT * FROM execution.schedule
WHERE tenant_id = $1 AND schedule = ANY ($2::uuid[])
ORDER BY schedule
FOR UPDATE;

-- name: of_tenant
SELECT * FROM execution.schedule WHERE tenant_id = $1 AND ended IS NULL ORDER BY schedule FOR UPDATE;

-- name: versions
-- Everything that was ever in force of these subscriptions, the newest first.
SELECT key, canonical FROM execution.catalog_version
WHERE tenant_id = $1 AND key = ANY ($2::text[])
ORDER BY key, version DESC, first_seen_at DESC;

-- name: last_instants
SELECT schedule, max(instant) AS instant FROM execution.due_instant
WHERE tenant_id = $1 AND schedule = ANY ($2::uuid[])
GROUP BY schedule;

-- name: put
INSERT INTO execution.schedule
    (tenant_id, schedule, subscription, subscription_version, spec, rule, object_sha256, misfire, paused, expires,
     next_due, last_instant, counted_from)
SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::jsonb[], $6::bytea[], $7::text[],
    $8::text[], $9::boolean[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[])
ON CONFLICT (tenant_id, schedule) DO UPDATE SET
    subscription = excluded.subscription, subscription_version = excluded.subscription_version,
    spec = excluded.spec, rule = excluded.rule, object_sha256 = excluded.object_sha256, misfire = excluded.misfire,
    paused = excluded.paused, expires = excluded.expires, next_due = excluded.next_due,
    last_instant = excluded.last_instant, counted_from = excluded.counted_from, ended = NULL, ended_at = NULL,
    updated_at = clock_timestamp();

-- name: finish
UPDATE execution.schedule AS schedule
SET ended = step.ended, ended_at = $5, next_due = NULL, held = false, updated_at = clock_timestamp(),
    last_instant = coalesce(step.last_instant, schedule.last_instant)
FROM unnest($1::text[], $2::uuid[], $3::text[], $4::timestamptz[])
    AS step (tenant_id, schedule, ended, last_instant)
WHERE schedule.tenant_id = step.tenant_id AND schedule.schedule = step.schedule;

-- name: remove
DELETE FROM execution.schedule
WHERE (tenant_id, schedule) IN (SELECT * FROM unnest($1::text[], $2::uuid[]));

-- name: claim_due
-- The literal conditions are those of the index; what another listener holds is left to it.
SELECT tenant_id, schedule, subscription, subscription_version, rule, misfire, paused, expires, next_due,
    last_instant, counted_from
FROM execution.schedule
WHERE next_due <= $1 AND next_due IS NOT NULL AND NOT held
ORDER BY next_due
LIMIT $2
FOR UPDATE SKIP LOCKED;

-- name: rules
SELECT DISTINCT ON (rule) rule, spec FROM execution.schedule
WHERE (tenant_id, schedule) IN (SELECT * FROM unnest($1::text[], $2::uuid[]));

-- name: hold
UPDATE execution.schedule SET held = true
WHERE (tenant_id, schedule) IN (SELECT * FROM unnest($1::text[], $2::uuid[]));

-- name: release
-- After a stop ended, what became due meanwhile is late, and its misfire says what is done about it.
UPDATE execution.schedule SET held = false
WHERE held AND NOT EXISTS (
    SELECT FROM mailbox.stop WHERE scope = ANY (mailbox.scopes_over(tenant_id, NULL, subscription, 'time'))
);

-- name: advance
UPDATE execution.schedule AS schedule
SET next_due = step.next_due, last_instant = step.last_instant, updated_at = clock_timestamp()
FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])
    AS step (tenant_id, schedule, next_due, last_instant)
WHERE schedule.tenant_id = step.tenant_id AND schedule.schedule = step.schedule;

-- name: emit
INSERT INTO execution.due_instant
    (tenant_id, schedule, instant, subscription, subscription_version, receiptid, emitted)
SELECT due.*, $7 FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::text[], $5::bigint[], $6::uuid[])
    AS due (tenant_id, schedule, instant, subscription, subscription_version, receiptid)
ON CONFLICT DO NOTHING
RETURNING receiptid;

-- name: skip
INSERT INTO execution.due_instant
    (tenant_id, schedule, instant, subscription, subscription_version, outcome, reason, skipped, skipped_from)
SELECT tenant_id, schedule, instant, subscription, subscription_version, 'skipped', reason, skipped, skipped_from
FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
    $8::timestamptz[])
    AS due (tenant_id, schedule, instant, subscription, subscription_version, reason, skipped, skipped_from)
ON CONFLICT DO NOTHING;
