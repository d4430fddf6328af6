-- The first and the last id (UUIDv7) that can be made at a time: how days of messages are told apart.
create function mailbox.first_id(p_at timestamptz) returns uuid language sql immutable as $$
    select (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Make the days from yesterday to so many ahead. A day whose rows lie in the default partition already stays there.
-- Attaching needs a weak lock only, unlike creating a partition in place.
create function mailbox.create_days(p_ahead integer) returns integer language plpgsql volatile security definer
set search_path = pg_catalog set timezone = 'UTC' as $$
declare
    v_day date;
    v_made integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('mailbox.days'));
    for v_day in select generate_series(current_date - 1, current_date + p_ahead, interval '1 day')::date loop
        if to_regclass('mailbox.event_' || to_char(v_day, 'YYYYMMDD')) is null
            and not exists (select from mailbox.event_default e where e.at >= v_day and e.at < v_day + 1) then
            execute format(
                'create table mailbox.%1$I (like mailbox.event including all excluding identity excluding indexes)',
                'event_' || to_char(v_day, 'YYYYMMDD')
            );
            execute format(
                'alter table mailbox.event attach partition mailbox.%1$I for values from (%2$L) to (%3$L)',
                'event_' || to_char(v_day, 'YYYYMMDD'), v_day::timestamptz, (v_day + 1)::timestamptz
            );
            v_made := v_made + 1;
        end if;
        if to_regclass('mailbox.message_' || to_char(v_day, 'YYYYMMDD')) is null
            and not exists (
                select from mailbox.message_default m
                where m.id >= mailbox.first_id(v_day) and m.id < mailbox.first_id(v_day + 1)
            ) then
            execute format(
                'create table mailbox.%1$I (like mailbox.message including all excluding indexes)',
                'message_' || to_char(v_day, 'YYYYMMDD')
            );
            execute format(
                'alter table mailbox.message attach partition mailbox.%1$I for values from (%2$L) to (%3$L)',
                'message_' || to_char(v_day, 'YYYYMMDD'), mailbox.first_id(v_day), mailbox.first_id(v_day + 1)
            );
            v_made := v_made + 1;
        end if;
    end loop;
    return v_made;
end
$$;

-- The streams that are not closed and begin on or before that day, unless a later event carries their state.
create function mailbox.uncarried(p_day date) returns table (tenant_id text, id uuid) language sql stable
set timezone = 'UTC' as $$
    select l.tenant_id, l.id
    from (
        select w.tenant_id, w.id from mailbox.work w
        union all
        select d.tenant_id, d.id from mailbox.dead d
    ) l
    join mailbox.message m on m.tenant_id = l.tenant_id and m.id = l.id
    where m.deposited_at < (p_day + 1)::timestamptz and not exists (
        select from mailbox.event e
        where e.message_id = l.id and e.tenant_id = l.tenant_id and e.kind = 'carried'
            and e.at >= (p_day + 1)::timestamptz
    )
$$;

-- Drop a day of the log and of closed messages. Messages of streams that still live move to the default partition;
-- where the state of such a stream was not carried forward, nothing is dropped (mechanics 23).
create function mailbox.drop_day(p_day date) returns boolean language plpgsql volatile security definer
set search_path = pg_catalog set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
    v_message regclass := to_regclass('mailbox.message_' || to_char(p_day, 'YYYYMMDD'));
    v_event regclass := to_regclass('mailbox.event_' || to_char(p_day, 'YYYYMMDD'));
begin
    if p_day >= current_date - 1 then
        raise exception 'day %: only days before yesterday can be dropped', p_day using errcode = 'SR002';
    end if;
    perform pg_advisory_xact_lock(hashtext('mailbox.days'));
    -- Nobody deposits for a past day, but what lives may change: keep it as it was carried.
    lock table mailbox.work, mailbox.dead in share mode;
    if exists (select from mailbox.uncarried(p_day)) then
        raise exception 'day %: streams that still live were not carried forward', p_day using errcode = 'SR002';
    end if;
    if v_message is not null then
        execute format('alter table mailbox.message detach partition %s', v_message);
        execute format(
            'insert into mailbox.message select m.* from %s m where exists (select from mailbox.work w'
            ' where w.tenant_id = m.tenant_id and w.id = m.id) or exists (select from mailbox.dead d'
            ' where d.tenant_id = m.tenant_id and d.id = m.id)', v_message
        );
        execute format('drop table %s', v_message);
    end if;
    -- What was moved there for an earlier day and closed since has no log of its own any more.
    delete from mailbox.message_default m
    where m.deposited_at < (p_day + 1)::timestamptz
        and not exists (select from mailbox.work w where w.tenant_id = m.tenant_id and w.id = m.id)
        and not exists (select from mailbox.dead d where d.tenant_id = m.tenant_id and d.id = m.id);
    if v_event is not null then
        execute format('alter table mailbox.event detach partition %s', v_event);
        execute format('drop table %s', v_event);
    end if;
    return v_message is not null or v_event is not null;
end
$$;

select mailbox.create_days(3);
