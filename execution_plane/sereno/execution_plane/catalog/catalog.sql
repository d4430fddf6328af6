-- name: versions
SELECT tenant_id, epoch, version, received_at FROM execution.manifest;

-- name: tenant
SELECT manifest.signed, manifest.epoch, manifest.version, manifest.received_at,
       coalesce(array_agg(catalog.object) FILTER (WHERE catalog.key IS NOT NULL), '{}') AS objects
FROM execution.manifest
LEFT JOIN execution.catalog USING (tenant_id)
WHERE manifest.tenant_id = $1
GROUP BY manifest.tenant_id;

-- name: retired_endpoints
SELECT DISTINCT ON (key) canonical
FROM execution.catalog_version
WHERE tenant_id = $1
  AND key LIKE 'endpoint/%'
  AND NOT EXISTS (
    SELECT FROM execution.catalog WHERE catalog.tenant_id = $1 AND catalog.key = catalog_version.key
  )
ORDER BY key, version DESC;

-- name: version_of_object
SELECT canonical FROM execution.catalog_version WHERE tenant_id = $1 AND key = $2 AND version = $3;
