-- name: hold
-- A live holder whose cancel another cause took back with it is told again. Rows are locked in the order of their ids,
-- as everywhere, and are looked at again as they are then: what rested may have been leased.
-- Arguments: tenant, agent, subscription (each null: any), cause, whether live holders are told to stop, principal,
-- whether of what rests only that whose age counts is meant, source (null: any).
with clock as materialized (
    select clock_timestamp() as at
), meant as materialized (
    select tenant_id, id from mailbox.work
    where ($1::text is null or tenant_id = $1) and ($2::text is null or agent = $2)
        and ($3::text is null or subscription = $3)
        and state = 'leased' and (($4 = any(held_by)) is not true or ($5 and cancel is null))
        and ($8::text is null or exists (
            select from mailbox.message m
            where m.tenant_id = work.tenant_id and m.id = work.id
                and $8 in (m.context ->> 'source', split_part(m.context ->> 'source', '/', 1))
        ))
    union all
    select tenant_id, id from mailbox.work
    where ($1::text is null or tenant_id = $1) and ($2::text is null or agent = $2)
        and ($3::text is null or subscription = $3)
        and state <> 'leased' and ($4 = any(held_by)) is not true
        and (not $7::boolean or (state = 'ready' and give_up_at is not null))
        and ($8::text is null or exists (
            select from mailbox.message m
            where m.tenant_id = work.tenant_id and m.id = work.id
                and $8 in (m.context ->> 'source', split_part(m.context ->> 'source', '/', 1))
        ))
), found as materialized (
    select w.tenant_id, w.id
    from (select * from meant order by id offset 0) m
    cross join lateral (
        select w.tenant_id, w.id from mailbox.work w
        where w.tenant_id = m.tenant_id and w.id = m.id
            and (($4 = any(w.held_by)) is not true or ($5 and w.state = 'leased' and w.cancel is null))
        limit 1 for update
    ) w
), held as (
    update mailbox.work w set
        held_by = case when $4 = any(w.held_by) then w.held_by else array_append(w.held_by, $4) end,
        still_since = coalesce(w.still_since, clock.at),
        cancel = case when $5 and w.state = 'leased' then coalesce(w.cancel, $4) else w.cancel end,
        cancel_to = case when $5 and w.state = 'leased' then coalesce(w.cancel_to, 'ready') else w.cancel_to end
    from found, clock
    where w.tenant_id = found.tenant_id and w.id = found.id
    returning w.*
)
insert into mailbox.event (
    tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail, data
)
select
    tenant_id, clock.at, 'held', id, run_id, agent, token, $6, on_behalf_of, $4::text,
    json_build_object('cancel', $5::boolean)
from held, clock
order by id

-- name: keep
-- What comes back later is held too. Arguments: tenant, subscription, cause, whether live holders are told to stop.
insert into mailbox.hold (tenant_id, subscription, cause, cancel) values ($1, $2, $3, $4)
on conflict (tenant_id, subscription, cause) do update set cancel = excluded.cancel

-- name: forget
-- Arguments: tenant, subscription, cause (null: all).
delete from mailbox.hold where tenant_id = $1 and subscription = $2 and ($3::text is null or cause = $3)

-- name: lock
-- Arguments: tenants, subscriptions.
select 1
from (
    select w.tenant_id, w.id
    from unnest($1::text[], $2::text[]) as i (tenant_id, subscription)
    join mailbox.work w using (tenant_id, subscription)
    order by w.id offset 0
) m
cross join lateral (
    select 1 from mailbox.work w where w.tenant_id = m.tenant_id and w.id = m.id limit 1 for update
) w

-- name: unhold
-- Arguments: tenant, agent, subscription (each null: any), cause, principal.
with clock as materialized (
    select clock_timestamp() as at
), meant as materialized (
    select tenant_id, id from mailbox.work
    where ($1::text is null or tenant_id = $1) and ($2::text is null or agent = $2)
        and ($3::text is null or subscription = $3)
        and state = 'leased' and $4 = any(held_by)
    union all
    select tenant_id, id from mailbox.work
    where ($1::text is null or tenant_id = $1) and ($2::text is null or agent = $2)
        and ($3::text is null or subscription = $3)
        and state <> 'leased' and $4 = any(held_by)
), found as materialized (
    select w.*
    from (select * from meant order by id offset 0) m
    cross join lateral (
        select w.tenant_id, w.id, nullif(array_remove(w.held_by, $4), '{}') as left_by from mailbox.work w
        where w.tenant_id = m.tenant_id and w.id = m.id and $4 = any(w.held_by)
        limit 1 for update
    ) w
), freed as (
    update mailbox.work w set
        held_by = found.left_by,
        give_up_at = case
            when found.left_by is null and w.state <> 'parked' then w.give_up_at + (clock.at - w.still_since)
            else w.give_up_at
        end,
        still_since = case when found.left_by is null and w.state <> 'parked' then null else w.still_since end,
        cancel = case when w.cancel = $4 and w.cancel_to = 'ready' then null else w.cancel end,
        cancel_to = case when w.cancel = $4 and w.cancel_to = 'ready' then null else w.cancel_to end
    from found, clock
    where w.tenant_id = found.tenant_id and w.id = found.id
    returning w.*
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail
    )
    select
        tenant_id, clock.at, 'unheld', id, run_id, agent, token, $5, on_behalf_of, $4::text
    from freed, clock
    order by id
)
select distinct tenant_id, agent from freed

-- name: withdraw
-- What nobody holds is dead now; a live holder is told at the next renewal.
-- Arguments: tenant, subscription, reason, principal.
with clock as materialized (
    select clock_timestamp() as at
), meant as materialized (
    select tenant_id, id from mailbox.work
    where tenant_id = $1 and subscription = $2 and state = 'leased' and cancel_to is distinct from 'dead'
    union all
    select tenant_id, id from mailbox.work where tenant_id = $1 and subscription = $2 and state <> 'leased'
), found as materialized (
    select w.*
    from (select * from meant order by id offset 0) m
    cross join lateral (
        select w.tenant_id, w.id, w.state from mailbox.work w
        where w.tenant_id = m.tenant_id and w.id = m.id and w.cancel_to is distinct from 'dead'
        limit 1 for update
    ) w
), leased as materialized (
    select * from found where state = 'leased'
), resting as materialized (
    select * from found where state <> 'leased'
), told as (
    update mailbox.work w set cancel = $3, cancel_to = 'dead'
    from leased
    where w.tenant_id = leased.tenant_id and w.id = leased.id
    returning w.*
), removed as (
    delete from mailbox.work w using resting
    where w.tenant_id = resting.tenant_id and w.id = resting.id
    returning w.*
), unparked as (
    delete from mailbox.parked p using resting
    where p.tenant_id = resting.tenant_id and p.id = resting.id
), closed as (
    insert into mailbox.dead (
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, reason, attempts, max_attempts, token,
        ended, closed_at
    )
    select
        tenant_id, id, run_id, agent, subscription, serial_key, on_behalf_of, $3, attempts, max_attempts, token,
        ended, clock.at
    from removed, clock
), logged as (
    insert into mailbox.event (
        tenant_id, at, kind, message_id, run_id, agent, token, principal, on_behalf_of, detail
    )
    select
        tenant_id, clock.at, 'withdrawn', id, run_id, agent, token, $4, on_behalf_of, $3::text
    from told, clock
    union all
    select
        tenant_id, clock.at, 'died', id, run_id, agent, token, $4, on_behalf_of, $3::text
    from removed, clock
)
select tenant_id, agent, null as serial_key from told
union all
select tenant_id, agent, serial_key from removed
