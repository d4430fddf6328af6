-- In which transaction a verdict was written last: the sequencer of the chain reads in that order. What was decided
-- before has none and is not chained.
alter table execution.verdict add column xid bigint;

alter table execution.verdict alter column xid set default (pg_current_xact_id()::text::bigint);

-- Rows lie in the order of their transactions, so an index of ranges finds the new ones and costs deliveries nothing.
create index verdict_by_xid on execution.verdict using brin (xid) with (pages_per_range = 16, autosummarize = on);

-- How far the chain has followed the verdicts.
create table execution.audit_cursor (
    only_row     boolean primary key default true check (only_row),
    xid          bigint  not null,
    receiptid    uuid    not null,
    subscription text    not null
);

insert into execution.audit_cursor (xid, receiptid, subscription) values (0, '00000000-0000-0000-0000-000000000000', '')
