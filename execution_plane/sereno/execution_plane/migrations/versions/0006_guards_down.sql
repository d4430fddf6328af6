-- What is open as a batch, or waits for an evaluation, is no message yet, and the revision before knows neither: those
-- events end here with that reason. What is held stays held: its verdict says so.
update execution.verdict v set outcome = 'dropped', reason = 'downgraded'
where v.outcome in ('merged', 'awaiting_verdict') and (
    exists (
        select from execution.batch b join execution.batch_item i on i.tenant_id = b.tenant_id and i.batch_id = b.id
        where b.closed_at is null and b.tenant_id = v.tenant_id and b.subscription = v.subscription
            and i.receiptid = v.receiptid
    )
    or exists (
        select from execution.evaluation e
        where (e.tenant_id, e.receiptid, e.subscription) = (v.tenant_id, v.receiptid, v.subscription)
    )
);

drop table execution.reconciled;

drop table execution.evaluation_patience;

drop sequence execution.evaluation_token;

drop table execution.evaluation;

drop table execution.held;

drop table execution.suspension;

drop table execution.batch_item;

drop table execution.batch;

drop table execution.usage;

drop table execution.budget_reservation;

drop table execution.budget;

drop table execution.subject_state;

alter table execution.subscription_state reset (
    fillfactor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor
);

alter table execution.subscription_state drop column arrivals;

update execution.dedup set outcome = 'dropped' where outcome in ('suspended', 'awaiting_verdict');

alter table execution.dedup
    drop constraint dedup_outcome_check,
    add constraint dedup_outcome_check check (outcome in ('delivered', 'merged', 'held', 'dropped'));

alter table execution.verdict
    alter column numbers drop default,
    alter column guards type jsonb using guards::jsonb,
    alter column numbers type jsonb using numbers::jsonb;

alter table execution.verdict alter column numbers set default '{}';

create index verdict_held on execution.verdict (reason, tenant_id, decided_at) where outcome = 'held';
