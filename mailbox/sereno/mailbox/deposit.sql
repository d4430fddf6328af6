-- name: join_lines
-- Holds the line of each serial key until the transaction ends, so that only one joins or promotes at a time.
-- Arguments: tenants, agents, serial keys.
insert into mailbox.serial_slot as s (tenant_id, agent, serial_key)
select distinct tenant_id, agent, serial_key from unnest($1::text[], $2::text[], $3::text[])
    as i (tenant_id, agent, serial_key)
order by tenant_id, agent, serial_key
on conflict (tenant_id, agent, serial_key) do update set stalled = s.stalled

-- name: deposit_batch
-- A message that is already there is left alone, and with it its work. Arguments: those of the function.
select mailbox.deposit(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22
)
