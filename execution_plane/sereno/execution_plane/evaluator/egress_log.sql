-- name: write
-- Arguments: tenant, subscription, evaluator, model, egress, host, digests, characters, redacted.
insert into execution.egress
    (tenant_id, subscription, evaluator, model, egress, host, items, characters, redacted)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb)
