-- Schedules are derived from the catalog, so they are made anew rather than converted.
delete from execution.schedule;

drop index execution.schedule_held;

drop index execution.schedule_by_due;

drop index execution.schedule_by_subscription;

alter table execution.schedule
    drop constraint schedule_ended,
    drop column rule, drop column object_sha256, drop column counted_from, drop column held, drop column ended,
    drop column ended_at;

alter table execution.schedule reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);

create unique index schedule_by_subscription on execution.schedule (tenant_id, subscription);

create index schedule_by_due on execution.schedule (next_due) where next_due is not null;

alter table execution.due_instant drop column subscription_version;
