-- name: ack_in_transaction
-- Arguments: token, result, usage (JSON as text: what the driver makes of jsonb is the caller's business).
select mailbox.ack_in_transaction($1::bigint, $2::text::jsonb, $3::text::jsonb)

-- name: ack_in_transaction_psycopg
select mailbox.ack_in_transaction(%s::bigint, %s::text::jsonb, %s::text::jsonb)
