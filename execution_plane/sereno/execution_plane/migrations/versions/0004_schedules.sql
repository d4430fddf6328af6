-- Schedules are derived from the catalog, so they are made anew rather than converted.
delete from execution.schedule;

-- `rule` names the source by its hash, so that a claim need not carry it; `object_sha256` is that of the catalog's
-- object from which the row was derived. A held schedule waits for the end of a stop. One that ended (how, and when)
-- keeps its row without a next instant, so that a right that is given back is known from a new declaration.
alter table execution.schedule
    add column rule          bytea       not null,
    add column object_sha256 text        not null,
    add column counted_from  timestamptz not null,
    add column held          boolean     not null default false,
    add column ended         text,
    add column ended_at      timestamptz,
    add constraint schedule_ended check ((ended is null) = (ended_at is null) and (ended is null or next_due is null));

drop index execution.schedule_by_subscription;
create unique index schedule_by_subscription on execution.schedule (tenant_id, subscription) where ended is null;

drop index execution.schedule_by_due;
create index schedule_by_due on execution.schedule (next_due) where next_due is not null and not held;
create index schedule_held on execution.schedule (tenant_id) where held;
-- Each firing makes a dead row, and they are all at the front of the index.
alter table execution.schedule set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- By which version of the subscription the instant was due: its text is in the history.
alter table execution.due_instant add column subscription_version bigint not null default 0;
