-- name: keep
-- Once per tenant, class and address; what comes again is kept from then on, noted at most once a day. In the order of
-- the key, so that two batches never wait for each other. Arguments: a column each of tenants, classes, addresses,
-- media types, data.
INSERT INTO execution.large_data AS kept (tenant_id, sensitivity, address, media_type, data)
SELECT DISTINCT ON (1, 2, 3) * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
ORDER BY 1, 2, 3
ON CONFLICT (tenant_id, sensitivity, address) DO UPDATE SET kept_at = clock_timestamp()
WHERE kept.kept_at < clock_timestamp() - interval '1 day';

-- name: forget
-- One page of what last came so long ago, behind a key, less what is still carried; it may be carried at any time after
-- it came. Arguments: how long it is kept, rows a page, the key.
WITH old AS (
    SELECT tenant_id, sensitivity, address, format('/v1/data/%s/%s', sensitivity, address) AS reference
    FROM execution.large_data
    WHERE kept_at < (SELECT clock_timestamp()) - $1::interval AND (tenant_id, sensitivity, address) > ($3, $4, $5)
    ORDER BY tenant_id, sensitivity, address
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), carried AS (
    SELECT m.tenant_id, e ->> 'dataref' AS reference
    FROM mailbox.work w
    JOIN mailbox.message m ON m.tenant_id = w.tenant_id AND m.id = w.id, json_array_elements(m.envelopes) e
    WHERE w.tenant_id IN (SELECT tenant_id FROM old)
    UNION ALL
    SELECT r.tenant_id, r.envelope ->> 'dataref'
    FROM execution.verdict v
    JOIN execution.receipt r ON r.tenant_id = v.tenant_id AND r.receiptid = v.receiptid
    WHERE v.outcome = 'held' AND v.tenant_id IN (SELECT tenant_id FROM old)
    UNION ALL
    SELECT r.tenant_id, r.envelope ->> 'dataref'
    FROM execution.batch b
    JOIN execution.batch_item i ON i.tenant_id = b.tenant_id AND i.batch_id = b.id
    JOIN execution.receipt r ON r.tenant_id = i.tenant_id AND r.receiptid = i.receiptid
    WHERE b.closed_at IS NULL AND b.tenant_id IN (SELECT tenant_id FROM old)
), gone AS (
    DELETE FROM execution.large_data d USING old
    WHERE (d.tenant_id, d.sensitivity, d.address) = (old.tenant_id, old.sensitivity, old.address)
        AND NOT EXISTS (
            SELECT FROM carried c WHERE c.tenant_id = old.tenant_id AND c.reference = old.reference
        )
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS gone, (SELECT count(*) FROM old) AS seen, l.tenant_id, l.sensitivity, l.address
FROM (SELECT 1) one
LEFT JOIN (SELECT * FROM old ORDER BY tenant_id DESC, sensitivity DESC, address DESC LIMIT 1) l ON true;

-- name: read
SELECT media_type, data FROM execution.large_data
WHERE tenant_id = ANY ($1::text[]) AND sensitivity = $2 AND address = $3;

-- name: carried_by_message
-- The tenant of a message that carries this reference, when one of these agents has it.
SELECT m.tenant_id FROM mailbox.message m
WHERE m.tenant_id = ANY ($1::text[]) AND m.id = $2 AND m.agent = ANY ($3::text[])
  AND EXISTS (SELECT FROM json_array_elements(m.envelopes) e WHERE e ->> 'dataref' = $4);

-- name: carried_by_lease
SELECT m.tenant_id FROM mailbox.work w JOIN mailbox.message m ON m.tenant_id = w.tenant_id AND m.id = w.id
WHERE w.token = $1 AND w.state = 'leased' AND w.leased_until > (SELECT clock_timestamp())
  AND EXISTS (SELECT FROM json_array_elements(m.envelopes) e WHERE e ->> 'dataref' = $2);

-- name: read_many
-- What a tenant has under these addresses. Arguments: tenant, classes, addresses, the most bytes of each.
SELECT sensitivity, address, media_type, length(data) AS size, CASE WHEN length(data) <= $4 THEN data END AS data
FROM execution.large_data
WHERE tenant_id = $1 AND (sensitivity, address) IN (SELECT * FROM unnest($2::text[], $3::text[]));
