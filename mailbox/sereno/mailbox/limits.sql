-- name: set_concurrency
-- Arguments: tenant, agent, most live leases at once (null: no limit).
insert into mailbox.box as b (tenant_id, agent, concurrency) values ($1, $2, $3)
on conflict (tenant_id, agent) do update set concurrency = excluded.concurrency
    where b.concurrency is distinct from excluded.concurrency

-- name: make_slots
-- Slots above the limit stay: a limit that rises again finds them. Arguments: tenant, agent, limit.
insert into mailbox.slot (tenant_id, agent, number)
select $1, $2, n from generate_series(1, $3::integer) as n
on conflict do nothing

-- name: take_slots
-- Live leases that were claimed before the limit count too. Arguments: tenant, agent, limit.
with bare as (
    select w.token, row_number() over (order by w.token) as nr from mailbox.work w
    where w.tenant_id = $1 and w.agent = $2 and w.state = 'leased'
        and not exists (
            select from mailbox.slot s where s.tenant_id = $1 and s.agent = $2 and s.token = w.token
        )
), free as (
    select s.number, row_number() over (order by s.number) as nr from mailbox.slot s
    where s.tenant_id = $1 and s.agent = $2 and s.number <= $3
        and not exists (select from mailbox.work w where w.token = s.token and w.state = 'leased')
)
update mailbox.slot s set token = bare.token
from bare join free using (nr)
where s.tenant_id = $1 and s.agent = $2 and s.number = free.number
