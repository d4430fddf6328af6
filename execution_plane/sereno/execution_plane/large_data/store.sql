-- name: keep
-- Once per tenant, class and address. Arguments: a column each of tenants, classes, addresses, media types, data.
INSERT INTO execution.large_data (tenant_id, sensitivity, address, media_type, data)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
ON CONFLICT DO NOTHING;

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
