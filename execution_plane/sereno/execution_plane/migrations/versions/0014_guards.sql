-- What came lately is counted by its moments: microseconds of the window, of the grain, then each moment with how many
-- came then. Two halves of a window told too little to go on from, so that counting begins anew.
update execution.subscription_state set arrivals = null where arrivals is not null;
alter table execution.subscription_state
    drop constraint subscription_state_arrivals,
    add constraint subscription_state_arrivals check (cardinality(arrivals) >= 2 and cardinality(arrivals) % 2 = 0);
delete from execution.subject_state;
alter table execution.subject_state
    drop constraint subject_state_arrivals,
    drop constraint subject_state_turns,
    add constraint subject_state_arrivals check (cardinality(arrivals) >= 2 and cardinality(arrivals) % 2 = 0),
    add constraint subject_state_turns check (cardinality(turns) >= 2 and cardinality(turns) % 2 = 0);

-- What closed batches that are forgotten had counted, by subscription: a rebuild begins from it.
create table execution.opening (
    tenant_id         text        not null,
    subscription      text        not null,
    deliveries        bigint      not null,
    last_delivered_at timestamptz not null,
    primary key (tenant_id, subscription)
);

-- When a batch became a message by the clock of its subscription, of which the cooldown counts.
alter table execution.batch add column delivered_at timestamptz;
update execution.batch set delivered_at = closed_at where message_id is not null;


-- How many events of its source a subscription was not concerned by, for they leave no verdict.
create table execution.filtered_out (
    tenant_id    text        not null,
    subscription text        not null,
    hour         timestamptz not null,
    events       bigint      not null,
    primary key (tenant_id, subscription, hour)
);
create index filtered_out_by_age on execution.filtered_out (hour);
