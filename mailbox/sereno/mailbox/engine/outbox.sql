-- name: append
INSERT INTO {schema}.outbox (tenant_id, subject, payload, headers)
SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::jsonb[]);

-- name: pending
SELECT position, subject, payload, headers,
       extract(epoch FROM clock_timestamp() - recorded_at)::float8 AS age_seconds
FROM {schema}.outbox
WHERE published_at IS NULL AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, position
LIMIT $1;

-- name: mark
UPDATE {schema}.outbox SET published_at = clock_timestamp() WHERE position = ANY ($1::bigint[]);

-- name: prune
DELETE FROM {schema}.outbox WHERE published_at < clock_timestamp() - make_interval(secs => $1);

-- name: lag
SELECT count(*) AS waiting, coalesce(extract(epoch FROM clock_timestamp() - min(recorded_at)), 0)::float8 AS age_seconds
FROM {schema}.outbox WHERE published_at IS NULL;

-- name: leader
SELECT pg_try_advisory_lock(hashtext('sereno.outbox.{schema}'));
