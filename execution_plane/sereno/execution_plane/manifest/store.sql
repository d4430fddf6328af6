-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('sereno.manifest/' || $1, 0));

-- name: current
SELECT signed FROM execution.manifest WHERE tenant_id = $1;

-- name: known_versions
SELECT key, version, sha256, canonical
FROM execution.catalog_version
WHERE tenant_id = $1
  AND (key, version, sha256) IN (SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[]));

-- name: objects
SELECT object FROM execution.catalog WHERE tenant_id = $1;

-- name: put_manifest
INSERT INTO execution.manifest (tenant_id, epoch, version, signed)
VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id) DO UPDATE
SET epoch = excluded.epoch, version = excluded.version, signed = excluded.signed, received_at = clock_timestamp();

-- name: keep_versions
INSERT INTO execution.catalog_version (tenant_id, key, version, sha256, canonical)
SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::bytea[])
ON CONFLICT DO NOTHING;

-- name: put_objects
INSERT INTO execution.catalog (tenant_id, key, version, sha256, object)
SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::jsonb[])
ON CONFLICT (tenant_id, key) DO UPDATE
SET version = excluded.version, sha256 = excluded.sha256, object = excluded.object
WHERE catalog.sha256 <> excluded.sha256;

-- name: remove_absent
DELETE FROM execution.catalog WHERE tenant_id = $1 AND key <> ALL ($2::text[]);
