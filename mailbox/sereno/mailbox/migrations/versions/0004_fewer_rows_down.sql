-- Back to one row a unit of a limit, and to what a lease looked up in its message.
alter table mailbox.work add column claimed_at timestamptz, add column first_claimed_at timestamptz;
update mailbox.work w set claimed_at = l.last_at, first_claimed_at = l.first_at
from (
    select tenant_id, message_id, max(at) as last_at, min(at) as first_at
    from mailbox.event where kind = 'claimed' group by tenant_id, message_id
) l
where l.tenant_id = w.tenant_id and l.message_id = w.id;
alter table mailbox.work drop column lease_seconds, drop column max_run_seconds, drop column max_age_seconds;

drop index mailbox.work_ready;
create index work_ready on mailbox.work (tenant_id, agent, order_key, id)
    where state = 'ready' and due and held_by is null and not behind;

drop index mailbox.event_when;
create index event_at on mailbox.event using brin (at) with (pages_per_range = 16, autosummarize = on);
create index event_token on mailbox.event using brin (token) with (pages_per_range = 16, autosummarize = on);

drop table mailbox.hold;

drop table mailbox.slot;
create table mailbox.slot (
    tenant_id text not null,
    agent text not null,
    number integer not null,
    token bigint,
    primary key (tenant_id, agent, number)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
insert into mailbox.slot (tenant_id, agent, number, token)
select b.tenant_id, b.agent, n, l.token
from mailbox.box b
cross join lateral generate_series(1, b.concurrency) as n
left join (
    select w.tenant_id, w.agent, w.token, row_number() over (partition by w.tenant_id, w.agent order by w.token) as n
    from mailbox.work w where w.state = 'leased'
) l using (tenant_id, agent, n)
where b.concurrency is not null;
