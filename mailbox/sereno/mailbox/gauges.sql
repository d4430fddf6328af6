-- name: mailbox
-- Arguments: the most that is counted. Every part runs along an index and ends there; the order names the index.
with tenant as materialized (
    select distinct tenant_id from mailbox.box
), clock as materialized (
    select clock_timestamp() as at
), leased as materialized (
    select w.tenant_id, count(*) as count, min(w.hard_deadline - make_interval(secs => w.max_run_seconds)) as since
    from (select * from mailbox.work where state = 'leased' order by leased_until limit $1) w
    group by w.tenant_id
), parked as materialized (
    select p.tenant_id, p.waiting_for, count(*) as count, min(w.still_since) as since
    from (select * from mailbox.parked limit $1) p
    join mailbox.work w on w.tenant_id = p.tenant_id and w.id = p.id
    group by p.tenant_id, p.waiting_for
), counted as (
    select t.tenant_id, 'ready' as state, (
        select count(*) from (
            select from mailbox.work w
            where w.tenant_id = t.tenant_id and w.state = 'ready' and w.due and w.held_by is null and not w.behind
            order by w.agent, w.order_key limit $1
        ) ready
    ) as count
    from tenant t
    union all
    select t.tenant_id, 'delayed', (
        select count(*) from (
            select from mailbox.work w where w.tenant_id = t.tenant_id and w.state = 'ready' and not w.due
            order by w.agent, w.ready_at limit $1
        ) delayed
    )
    from tenant t
    union all
    select t.tenant_id, 'dead', (
        select count(*) from (select from mailbox.dead d where d.tenant_id = t.tenant_id limit $1) dead
    )
    from tenant t
    union all
    select t.tenant_id, 'leased', coalesce(l.count, 0) from tenant t left join leased l using (tenant_id)
    union all
    select t.tenant_id, 'parked', coalesce(sum(p.count), 0)
    from tenant t left join parked p using (tenant_id) group by t.tenant_id
)
select 'sereno.mailbox.messages' as name, array[tenant_id, state] as labels, count::float8 as value from counted
union all
-- Ids are in the order of time, and so are the fair order's keys but for priorities: the oldest is among the first of one.
select 'sereno.mailbox.oldest_ready', array[t.tenant_id], coalesce(date_part('epoch', clock.at - least(
    (
        select min(w.ready_at) from (
            select * from mailbox.work o where o.tenant_id = t.tenant_id order by o.id limit 1000
        ) w
        where w.state = 'ready' and w.due and w.held_by is null and not w.behind
    ),
    (
        select min(first.ready_at) from mailbox.box b cross join lateral (
            select w.ready_at from mailbox.work w
            where w.tenant_id = b.tenant_id and w.agent = b.agent
                and w.state = 'ready' and w.due and w.held_by is null and not w.behind
            order by w.order_key limit 1
        ) first
        where b.tenant_id = t.tenant_id
    )
)), 0)
from tenant t, clock
union all
select 'sereno.mailbox.oldest_lease', array[t.tenant_id], coalesce(date_part('epoch', clock.at - l.since), 0)
from tenant t cross join clock left join leased l using (tenant_id)
union all
select 'sereno.mailbox.parked', array[p.tenant_id, p.waiting_for], p.count from parked p
union all
select 'sereno.mailbox.oldest_parked', array[t.tenant_id], coalesce(date_part('epoch', clock.at - min(p.since)), 0)
from tenant t cross join clock left join parked p using (tenant_id) group by t.tenant_id, clock.at
union all
select 'sereno.stop.engaged', array[named.tenant_id], (
    select count(*) from mailbox.stop s where split_part(s.scope, '/', 1) = named.tenant_id
)
from (select tenant_id from tenant union select '*') named

-- name: outbox
-- Arguments: the most that is counted. {plane} is the name of a schema of ours.
select 'sereno.outbox.waiting' as name, array['{plane}'] as labels, count(*)::float8 as value
from (select from {plane}.outbox where published_at is null limit $1) waiting
union all
select 'sereno.outbox.oldest', array['{plane}'], coalesce(date_part('epoch', clock_timestamp() - min(recorded_at)), 0)
from (select recorded_at from {plane}.outbox where published_at is null order by xid, position limit 100) oldest
